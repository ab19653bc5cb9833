module lockkeeper/client/go

go 1.19

require (
	golang.org/x/sys v0.21.0 // CLOCK_BOOTTIME and timerfd
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240318140521-94a12d6c2237 // the details of errors
	google.golang.org/grpc v1.64.1 // the newest that Debian 12's go 1.19 builds
	google.golang.org/protobuf v1.33.0
)

require (
	golang.org/x/net v0.26.0 // indirect
	golang.org/x/text v0.16.0 // indirect
)
