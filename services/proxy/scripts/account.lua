-- ARGV: prefix, key's id. The account as it is now, expired reservations given back.
give_back_expired(ARGV[2], milliseconds())
return redis.call('HGETALL', account_of(ARGV[2]))
