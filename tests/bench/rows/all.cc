// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "bench/row.h"

namespace lockkeeper::bench {

std::vector<Row> AllRows() {
  // SessionRows, DurableSessionRows and HeldRows follow when the daemon serves sessions.
  std::vector<Row> all;
  for (std::vector<Row> rows : {UnaryRows(), RedisRows(), NodeRows(), PostgresRows(), DurableRows(),
                                EtcdRows(), LineRows()}) {
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace lockkeeper::bench
