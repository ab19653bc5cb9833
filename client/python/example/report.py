# SPDX-License-Identifier: Apache-2.0
from lockkeeper import Client

with Client("127.0.0.1:7600") as client:
    with client.lock("report", ttl=30, wait=60) as lease:
        print("fencing token", lease.fencing_token)
        for part in range(3):
            lease.check()  # raises LeaseLost
            print("part", part)
    print("released")
