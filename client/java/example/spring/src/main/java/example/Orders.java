// SPDX-License-Identifier: Apache-2.0
package example;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** A customer clicks "pay" twice, and the clicks reach two replicas. */
@Service
public class Orders {
  /** Takes the money. No transaction of ours can take it back. */
  public interface Partner {
    void charge(long order);
  }

  private final JdbcClient database;
  private final Partner partner;

  Orders(JdbcClient database, Partner partner) {
    this.database = database;
    this.partner = partner;
  }

  /** False if the order is paid already. */
  @Locked(name = "order/#{#order}", waitTimeout = "10s")
  @Transactional(rollbackFor = Exception.class)
  public boolean pay(long order) {
    final long token = LockedAspect.lease().fencingToken();
    final int raised = // before anything is read: from now on an older holder is rejected
        database
            .sql("update orders set token = :token where id = :order and token <= :token")
            .param("token", token)
            .param("order", order)
            .update();
    if (raised == 0) throw new IllegalStateException("no such order, or a newer holder has it");
    final boolean paid =
        database
            .sql("select paid from orders where id = ?")
            .param(order)
            .query(Boolean.class)
            .single();
    if (paid) return false;
    partner.charge(order);
    database.sql("update orders set paid = true where id = ?").param(order).update();
    return true;
  }
}
