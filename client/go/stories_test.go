// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// tell is what a story of example/ prints, in its two parts.
func tell(t *testing.T, story string) (without, with string) {
	t.Helper()
	address, _ := startDaemon(t, "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // it is also built
	defer cancel()
	command := exec.CommandContext(ctx, "go", "run", "./example/"+story)
	command.Env = append(os.Environ(), "LOCKKEEPER_SERVER="+address)
	command.Stderr = os.Stderr
	said, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(said), "\n\n")
	if len(parts) != 2 {
		t.Fatalf("%s said: %s", story, said)
	}
	return parts[0], parts[1]
}

func TestThreeWorkersSendMoreThanOneMailWithoutALockAndOneWithIt(t *testing.T) {
	without, with := tell(t, "digest_mail")
	if strings.Contains(without, "Mails that Ada has: 1") {
		t.Error(without)
	}
	if !strings.Contains(with, "Mails that Ada has: 1") || strings.Count(with, "was sent before") != 2 {
		t.Error(with)
	}
}

func TestAJobRunsThreeTimesUnderAFreeLockAndOnceUnderOneThatStaysClosed(t *testing.T) {
	without, with := tell(t, "nightly_job")
	if !strings.Contains(without, "Runs of the job: 3") {
		t.Error(without)
	}
	if !strings.Contains(with, "Runs of the job: 1") || strings.Count(with, "leaves it to another one") != 2 {
		t.Error(with)
	}
}
