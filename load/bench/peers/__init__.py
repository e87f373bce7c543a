"""The peers of providers in benchmarks: the same net behind other servers, each a file of its own."""
