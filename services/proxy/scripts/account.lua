-- ARGV: prefix, key's id. The account as it is now, expired reservations given back.
balance(ARGV[2])
return redis.call('HGETALL', account_of(ARGV[2]))
