create trigger fence before update on seat
  for each row execute function lockkeeper.lockkeeper_fence_row();
