#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# search.sh SIMULATE [--rounds N] [--first R] [--seed S]: N rounds (10) of 100,000 schedules each, of all kinds in the same shares, from
# round R (0) on. Seed S of a search that has begun, and its next round, go on with it; without S it is drawn anew. Prints a line for each
# run with its violations, and the sum. Fails if there was one.
set -euo pipefail

readonly SIMULATE=$1
shift
rounds=10
first=0
seed=$((SRANDOM * 1000))
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2 ;;
    --first) first=$2 ;;
    --seed) seed=$2 ;;
    *) echo "search.sh: no such option: $1" >&2 && exit 2 ;;
  esac
  shift 2
done

# How many schedules of a round, and what else simulate is told. Those in memory cost a tenth.
readonly KINDS=(
  "10000 --store redis" "10000 --even --store redis" "15000 --orders 6 --store redis"
  "10000 --store memory" "20000 --even --store memory" "35000 --orders 6 --store memory")
readonly SEEDS_OF_A_KIND=50000000

schedules=0
failed=0
for ((round = first; round < first + rounds; ++round)); do
  for i in "${!KINDS[@]}"; do
    read -ra run <<<"${KINDS[i]}"
    count=${run[0]}
    from=$((seed + i * SEEDS_OF_A_KIND + round * count))
    status=0
    said=$("$SIMULATE" --no-regression --schedules "$count" --seed "$from" "${run[@]:1}" 2>&1) || status=$?
    echo "round $round, seed $from ${run[*]:1}: $(tail -n 1 <<<"$said")"
    schedules=$((schedules + count))
    [ $status = 0 ] || {
      failed=$((failed + 1))
      echo "$said"
    }
  done
done
echo "search from seed $seed, rounds $first to $((first + rounds - 1)): $schedules schedules, $failed runs with violations"
[ $failed = 0 ]
