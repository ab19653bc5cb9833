// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "bench/row.h"

namespace lockkeeper::bench {

std::vector<Row> AllRows() {
  std::vector<Row> all;
  for (std::vector<Row> rows :
       {UnaryRows(), RedisRows(), SessionRows(), NodeRows(), PostgresRows(), DurableRows(),
        DurableSessionRows(), TcpRows(), ReplicatedRows(), SecuredRows(), EtcdRows(), LineRows(),
        HeldRows(), InstructionRows()}) {
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace lockkeeper::bench
