begin;
select lockkeeper.lockkeeper_fence('report', :token);  -- LK001: stop
select total from report;
update report set total = total + 5;
commit;
