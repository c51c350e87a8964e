-- Takes one attempt of each budget back.
for _, key in ipairs(KEYS) do
  if tonumber(redis.call('HGET', key, 'n') or '0') > 0 then
    redis.call('HINCRBY', key, 'n', -1)
  end
end
