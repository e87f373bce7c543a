"""Everything that goes over HTTP: schemas, tensor encoding, problem details, the clients. Imports no deep
learning framework."""
