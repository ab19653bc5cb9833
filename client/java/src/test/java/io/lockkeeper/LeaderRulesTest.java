// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import io.lockkeeper.admin.v1.GetLockResponse;
import io.lockkeeper.admin.v1.Lock;
import io.lockkeeper.admin.v1.LockEvent;
import io.lockkeeper.admin.v1.LockEventKind;
import io.lockkeeper.admin.v1.LockState;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LeaderRulesTest {
  private static final long SECOND = Ticks.SECOND;

  private final LeaderRules rules = new LeaderRules();
  private boolean looking;

  @BeforeEach
  void openStream() {
    rules.begin(0);
  }

  static LockEvent.Builder event(String kind, long token) {
    return LockEvent.newBuilder()
        .setKind(LockEventKind.valueOf("LOCK_EVENT_KIND_" + kind)).setName("job").setFencingToken(token).setOwner("owner " + token);
  }

  static GetLockResponse.Builder look(String state, long token) {
    return GetLockResponse.newBuilder()
        .setLock(
            Lock.newBuilder()
                .setName("job").setState(LockState.valueOf("LOCK_STATE_" + state)).setFencingToken(token).setOwner("owner " + token));
  }

  static GetLockResponse.Builder noRecord() {
    return GetLockResponse.newBuilder();
  }

  private static GetLockResponse inQuarantine(GetLockResponse.Builder said, int seconds) {
    return said.setQuarantineLeft(Duration.newBuilder().setSeconds(seconds)).build();
  }

  /**
   * Lets the rules hear what is written, such as "GRANTED 7", "look HELD 7" or "look", and returns what they say: the token of a new
   * leader, 0 for none, and "look" when one is due.
   */
  private String play(long at, String... script) {
    final List<String> said = new ArrayList<>();
    for (String line : script) {
      final String[] words = line.split(" ");
      boolean isNew = false;
      if (line.equals("send look")) {
        rules.look(at);
        looking = true;
      } else if (words[0].equals("look")) {
        if (!looking) rules.look(at);
        looking = false;
        isNew = rules.looked(at, (words.length == 1 ? noRecord() : look(words[1], Long.parseLong(words[2]))).build());
      } else {
        isNew = rules.event(at, event(words[0], Long.parseLong(words[1])).build());
      }
      final Leader leader = rules.leader();
      if (isNew) said.add(leader == null ? "0" : Long.toString(leader.fencingToken()));
      if (rules.mustLook(at)) said.add("look");
    }
    return String.join(" ", said);
  }

  /** Each is heard by rules that have looked, and know that 7 leads, is offered or has ended. */
  @ParameterizedTest(name = "{0}, then {1}")
  @CsvSource({
    "look HELD 7, GRANTED 8, 8",
    "look HELD 7, GRANTED 7, ''",
    "look HELD 7, GRANTED 6, ''",
    "look OFFERED 7, GRANTED 7, 7",
    "look ENDED 7, GRANTED 7, ''",
    "look ENDED 7, GRANTED 8, 8",
    "look, GRANTED 1, 1",
    "look HELD 7, GRANTED 0, look",
    "look HELD 7, OFFERED 8, 0",
    "look HELD 7, OFFERED 7, ''",
    "look HELD 7, OFFERED 6, ''",
    "look ENDED 7, OFFERED 8, ''",
    "look HELD 7, OFFERED 0, look",
    "look HELD 7, RELEASED 7, 0",
    "look HELD 7, EXPIRED 7, 0",
    "look HELD 7, TAKEN_BACK 7, 0",
    "look HELD 7, FORCED 8, 0",
    "look HELD 7, RELEASED 6, ''",
    "look HELD 7, EXPIRED 6, ''",
    "look HELD 7, TAKEN_BACK 6, ''",
    "look HELD 7, FORCED 6, ''",
    "look HELD 7, RELEASED 8, 0",
    "look HELD 7, RELEASED 0, look",
    "look HELD 7, EXPIRED 0, look",
    "look HELD 7, TAKEN_BACK 0, look",
    "look HELD 7, FORCED 0, look",
    "look HELD 7, EXTENDED 8, look",
    "look HELD 7, EXTENDED 7, ''",
    "look HELD 7, EXTENDED 6, ''",
    "look HELD 7, EXTENDED 0, look",
    "look HELD 7, LOST 8, look",
    "look HELD 7, LOST 7, look",
    "look HELD 7, LOST 6, ''",
    "look HELD 7, LOST 0, look",
    "look HELD 7, STARTED 0, look",
    "look HELD 7, GAP 0, look",
    "look HELD 7, QUARANTINE_BEGAN 0, ''",
    "look HELD 7, QUARANTINE_ENDED 0, look",
    "look HELD 7, WAITING 0, ''",
    "look HELD 7, LEFT 0, ''",
    "look HELD 7, UNSPECIFIED 8, look",
  })
  void eachEventDoesWhatTheTableSays(String before, String event, String said) {
    play(0, before);
    assertEquals(said, play(0, event));
  }

  @ParameterizedTest(name = "{0}, then {1}")
  @CsvSource({
    "WAITING 0, look HELD 7, 7",
    "WAITING 0, look OFFERED 7, 0",
    "WAITING 0, look ENDED 7, 0",
    "WAITING 0, look, 0",
    "WAITING 0, look UNPROVEN 7, ''", // it is not known yet
    "GRANTED 7, look HELD 7, ''",
    "GRANTED 7, look HELD 8, 8",
    "GRANTED 7, look HELD 6, ''", // of a store that is behind
    "GRANTED 7, look OFFERED 8, 0",
    "GRANTED 7, look ENDED 7, 0",
    "GRANTED 7, look ENDED 6, 0",
    "GRANTED 7, look, 0", // its record is gone: the watch has missed the end
    "GRANTED 7, look UNPROVEN 7, ''",
    "GRANTED 7, look UNPROVEN 8, ''",
    "RELEASED 7, look HELD 7, 7", // the end was that of another lease
    "RELEASED 7, look ENDED 7, ''",
    "OFFERED 7, look HELD 7, 7",
  })
  void aLookSaysWhoLeads(String before, String look, String said) {
    play(0, before);
    assertEquals(said, play(0, look));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "a change of hands,             STARTED 0|look HELD 7|RELEASED 7|OFFERED 8|GRANTED 8, look 7 0 8",
    "in line,                       look HELD 7|OFFERED 8|GRANTED 8|RELEASED 7|EXTENDED 8, 7 0 8",
    "everything comes twice,        look HELD 7|RELEASED 7|RELEASED 7|GRANTED 8|GRANTED 8|RELEASED 8|RELEASED 8, 7 0 8 0",
    "the end comes before,          look HELD 7|RELEASED 8|GRANTED 8, 7 0",
    "the next grant comes first,    look HELD 7|GRANTED 9|RELEASED 7|GRANTED 8|RELEASED 8|RELEASED 9, 7 9 0",
    "an offer lapses,               look HELD 7|OFFERED 8|OFFERED 9|GRANTED 8|GRANTED 9, 7 0 9",
    "by force,                      look HELD 7|FORCED 8|GRANTED 8|LOST 7|GRANTED 9, 7 0 9",
    "a lost lease may be the next,  look HELD 7|LOST 7|look HELD 8, 7 look 8",
    "a made up token counts not,    look HELD 7|LOST 999|look HELD 7|RELEASED 7, 7 look 0",
    "a grant that was missed,       look HELD 7|EXTENDED 8|RELEASED 7|look HELD 8, 7 look look 8",
    "an extend after the end,       look HELD 7|RELEASED 7|EXTENDED 7|GRANTED 7, 7 0 look look",
    "an end during the look,        GRANTED 7|send look|RELEASED 7|look HELD 7|look ENDED 7, 7 0 look",
    "an end twice during the look,  GRANTED 7|RELEASED 7|send look|RELEASED 7|look ENDED 7, 7 0",
    "a grant during the look,       GRANTED 7|send look|GRANTED 8|look HELD 7|look HELD 8, 7 8 look",
    "an offer during the look,      GRANTED 7|send look|OFFERED 8|look HELD 7|look OFFERED 8|GRANTED 8, 7 0 look 8",
    "an extend during the look,     GRANTED 7|send look|EXTENDED 8|look HELD 7|look HELD 8, 7 look 8",
    "a claim during the look,       OFFERED 7|send look|GRANTED 7|look OFFERED 7|look HELD 7, 0 7 look",
    "a gap during the look,         GRANTED 7|send look|GAP 0|look HELD 7|look, 7 look 0",
    "a loss during the look,        GRANTED 7|send look|LOST 7|look HELD 7|look ENDED 7, 7 look 0",
    "old news during the look,      GRANTED 7|send look|RELEASED 6|GRANTED 6|EXTENDED 7|look ENDED 7, 7 0",
    "'no record, then old news',    GRANTED 7|look|GRANTED 7|GRANTED 8, 7 0 8",
    "'a forgotten one, then old news', GRANTED 7|look ENDED 6|GRANTED 7|GRANTED 8, 7 0 8",
    "'an ended record, then its end', look ENDED 7|EXPIRED 7|GRANTED 7, 0",
  })
  void storiesOfLeaders(String name, String script, String said) {
    assertEquals(said, play(0, script.split("\\|")));
  }

  @Test
  void aLookIsDueAfterTheStartAndEveryTenSeconds() {
    assertFalse(rules.mustLook(5 * SECOND - 1), "the stream has 5 s to start");
    assertTrue(rules.mustLook(5 * SECOND));
    assertEquals("look", play(SECOND, "STARTED 0"));
    rules.look(SECOND);
    assertEquals("", play(SECOND, "GAP 0"), "one at a time");
    assertEquals(LeaderRules.NEVER, rules.lookAt());
    rules.looked(2 * SECOND, look("HELD", 7).build());
    rules.look(SECOND);
    rules.looked(2 * SECOND, look("HELD", 7).build());
    assertFalse(rules.mustLook(11 * SECOND - 1));
    assertTrue(rules.mustLook(11 * SECOND));
    rules.look(11 * SECOND);
    rules.begin(12 * SECOND);
    assertFalse(rules.mustLook(17 * SECOND - 1), "another stream has 5 s to start");
    assertNotNull(rules.leader());
    assertEquals("look", play(12 * SECOND, "STARTED 0"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"UNPROVEN", "ENDED", "OFFERED", ""})
  void inAQuarantineTheLeaderStays(String state) {
    play(0, "GRANTED 7");
    rules.look(0);
    assertFalse(rules.looked(SECOND, inQuarantine(state.isEmpty() ? noRecord() : look(state, 7), 3)));
    assertNotNull(rules.leader());
    assertFalse(rules.mustLook(4 * SECOND - 1));
    assertTrue(rules.mustLook(4 * SECOND), "it is over");
    assertEquals("0", play(4 * SECOND, "look ENDED 7"));
  }

  @Test
  void aLookInAQuarantineIsRepeatedButNotAtOnce() {
    rules.look(0);
    assertTrue(rules.looked(0, inQuarantine(look("HELD", 7), 60)), "it was proved");
    assertTrue(rules.mustLook(10 * SECOND));
    rules.look(10 * SECOND);
    assertFalse(rules.looked(10 * SECOND, inQuarantine(noRecord(), 3600)));
    assertTrue(rules.mustLook(20 * SECOND), "every 10 s, however long it lasts");
    rules.look(20 * SECOND);
    assertFalse(rules.looked(20 * SECOND, inQuarantine(noRecord(), 0)));
    assertFalse(rules.mustLook(20 * SECOND));
    assertTrue(rules.mustLook(21 * SECOND));
  }

  @Test
  void whoLeadsIsKnownOnce() {
    rules.look(0);
    assertFalse(rules.looked(0, inQuarantine(noRecord(), 1)), "nothing is known in a quarantine");
    assertEquals("0", play(0, "look", "look", "RELEASED 7"));
    assertNull(rules.leader());
  }

  @Test
  void aGrantWithoutAnOwnerIsLookedUp() {
    final LockEvent granted = event("GRANTED", 7).clearOwner().build();
    assertFalse(rules.event(0, granted));
    assertTrue(rules.mustLook(0));
    final GetLockResponse.Builder known = look("HELD", 7);
    known.getLockBuilder().setPrincipal("cn:me");
    rules.look(0);
    assertTrue(rules.looked(0, known.build()));
    assertEquals(new Leader(7, "owner 7", "cn:me"), rules.leader());
    assertFalse(rules.event(0, granted));
    assertEquals("owner 7", rules.leader().owner());
  }
}
