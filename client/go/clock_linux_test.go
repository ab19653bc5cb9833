// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const tellsTime = "LOCKKEEPER_TEST_TELLS_TIME"

// A process whose boot was a day earlier, which is what a machine's sleep does to CLOCK_BOOTTIME and
// to no other clock, tells a day more.
func TestTimeGoesOnWhileTheMachineSleeps(t *testing.T) {
	if os.Getenv(tellsTime) != "" {
		fmt.Printf("now %d\n", now())
		return
	}
	const day = 24 * time.Hour
	command := exec.Command("unshare", "--user", "--map-root-user", "--time", "--boottime", fmt.Sprint(int64(day/time.Second)),
		os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), tellsTime+"=1")
	before := now()
	out, err := command.CombinedOutput()
	after := now()
	if err != nil {
		t.Skipf("no time namespace here: %v: %s", err, out)
	}
	_, word, _ := strings.Cut(string(out), "now ")
	var told instant
	if _, err := fmt.Sscan(word, &told); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if told < before.add(day) || told > after.add(day) {
		t.Errorf("told %v, between %v and %v here", told, before, after)
	}
}

func TestAlarmGoesOnWhileTheMachineSleeps(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", a.fd))
	if err != nil {
		t.Fatal(err)
	}
	const bootTime = "clockid: 7\n"
	if !strings.Contains(string(info), bootTime) {
		t.Errorf("the timer is not one of CLOCK_BOOTTIME:\n%s", info)
	}
}
