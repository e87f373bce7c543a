"""What providers are compared with: the same net behind other servers, each a file of its own."""
