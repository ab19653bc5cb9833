// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// eachHistory judges the histories in a folder of testdata.
func eachHistory(t *testing.T, folder string, least int, judge func(*testing.T, *history, verdict)) {
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.jsonl"))
	if err != nil || len(paths) < least {
		t.Fatalf("%d histories in %s: %v", len(paths), folder, err)
	}
	for _, path := range paths {
		path := path
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl"), func(t *testing.T) {
			h, err := readHistory([]string{path})
			if err != nil {
				t.Fatal(err)
			}
			judge(t, h, check(h, time.Minute, ""))
		})
	}
}

func TestRefusesEachPlantedError(t *testing.T) {
	eachHistory(t, "refused", 10, func(t *testing.T, h *history, v verdict) {
		if v.result != porcupine.Illegal || h.expected == "" || !strings.Contains(v.text, h.expected) {
			t.Errorf("%s, expected \"%s\":\n%s", v.result, h.expected, v.text)
		}
	})
}

func TestAcceptsWhatIsRight(t *testing.T) {
	eachHistory(t, "accepted", 5, func(t *testing.T, h *history, v verdict) {
		if v.result != porcupine.Ok || v.operations == 0 {
			t.Errorf("%s of %d:\n%s", v.result, v.operations, v.text)
		}
	})
}

func TestDoesNotAcceptAHistoryWithoutAGrant(t *testing.T) {
	if v := check(&history{forgotten: forever}, time.Minute, ""); v.result != porcupine.Unknown {
		t.Error(v.result)
	}
}

func TestReadsWhatAKilledClientHasLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	text := `{"client":"1","op":1,"kind":"acquire","lock":"l","lease":"a","begin":5}
{"client":"1","op":2,"kind":"extend","lock":"l","lease":"a","begin":7}
{"client":"1","op":1,"end":6,"outcome":"ok","token":9,"left_us":100}
{"client":"1","op":2,"en`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := readHistory([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.operations) != 2 || h.operations[0].Token != 9 || h.operations[0].End != 6 {
		t.Errorf("%+v", h.operations)
	}
	if o := h.operations[1]; o.Outcome != "unknown" || o.End != forever {
		t.Errorf("%+v", o)
	}
}

func TestDrawsAContradiction(t *testing.T) {
	h, err := readHistory([]string{"testdata/refused/two_holders.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	html := filepath.Join(t.TempDir(), "picture.html")
	check(h, time.Minute, html)
	if picture, err := os.ReadFile(html); err != nil || !strings.Contains(string(picture), "token 20") {
		t.Errorf("%d bytes: %v", len(picture), err)
	}
}
