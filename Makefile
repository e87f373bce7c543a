# The two commands of the README are `make demo` and `make test`. Everything they install lives in $(VENV), everything they
# write in .leakrange; neither needs root.
PYTHON ?= python3
VENV ?= .venv
FEDERATION_VENV ?= .venv-federation
PEERS_VENV ?= .venv-peers
MLSERVER_VENV ?= .venv-mlserver
STATE ?= .leakrange/demo
PORTS ?= 8700
PYTEST_ARGS ?=
# Processes that share the test files out. One more than two cores: much of what tests do is waiting for servers.
TEST_WORKERS ?= 3

BIN := $(VENV)/bin
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
RUFF_CACHE_DIR ?= .ruff_cache
export RUFF_CACHE_DIR
# An environment with the test extra holds all that the demo needs.
DEMO_READY := $(if $(wildcard $(VENV)/.installed-test),$(VENV)/.installed-test,$(VENV)/.installed-embedded)
TEST_READY := $(VENV)/.installed-test
# Flower pins versions that the others do not take, so it has an environment of its own. So have our peers, and one of them alone.
FEDERATION_READY := $(FEDERATION_VENV)/.installed-federation
PEERS_READY := $(PEERS_VENV)/.installed-peers $(MLSERVER_VENV)/.installed-mlserver

# uv installs the lot in seconds, but does not read pip's settings. Wheels that pip is told to find (a local build of torch,
# say) are shown to uv too; without any, uv picks the build of torch that fits this machine: CPU, or its GPU's CUDA.
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
else
export UV_TORCH_BACKEND ?= auto
endif

# Every party is a process of its own, and imports a thousand modules. Without bytecode each would compile them all anew, which
# takes several times as long as importing them. The first to import a module writes it: most of what is installed nobody imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types contracts deploy-lint docs compiled unit test-slow test-peers mutants federation-env peers-env reproduce reproduce-quick compose-env kubernetes-env refresh-pins base-image clean help

help:
	@echo "make demo       start a range, run scenarios/demo.yaml, stop, show the report"
	@echo "make test       lint, types, import contracts, container files and manifests, documentation, all tests"
	@echo "make docs       the documentation as pages, in build/site"
	@echo "make reproduce-quick  a few rows of every paper, under 20 minutes on 2 cores (needs LEAKRANGE_DATA)"
	@echo "make reproduce  every table of every paper, as printed (needs LEAKRANGE_DATA; days, may be interrupted)"
	@echo "make test-slow  what the papers claim, on real data (needs LEAKRANGE_DATA)"
	@echo "make test-peers the same model behind servers of others, and tritonclient before the proxy (not part of make test)"
	@echo "make mutants    break the code in one place at a time: a test must notice each (not part of make test)"
	@echo "make federation-env  install Flower into $(FEDERATION_VENV), for federations of several processes"
	@echo "make peers-env  install kserve, MLflow, LitServe, BentoML and tritonclient into $(PEERS_VENV), MLServer into $(MLSERVER_VENV)"
	@echo "make compose-env  write .env with fresh random secrets for docker compose"
	@echo "make kubernetes-env  write infra/kubernetes/base/secrets.env likewise"
	@echo "make refresh-pins  write down anew the hashes of what is installed, and the digest of the image that all others stand on"
	@echo "make clean      remove what make made"

demo: $(DEMO_READY)
	@trap '$(BIN)/leakrange down --quiet --state $(STATE)' EXIT; trap 'exit 130' INT TERM; \
	$(BIN)/leakrange up --detach --state $(STATE) --ports $(PORTS) && \
	$(BIN)/leakrange run scenarios/demo.yaml --state $(STATE) --report $(STATE)/report.html --open

# Each check computes on one core, so two go at a time; the tests come when all have passed.
test: $(TEST_READY)
	@$(MAKE) --no-print-directory -j2 $(SYNC) types lint contracts deploy-lint docs federation-env compiled
	@$(MAKE) --no-print-directory unit

lint: $(TEST_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST_READY)
	$(BIN)/mypy

contracts: $(TEST_READY)
	$(BIN)/lint-imports

deploy-lint: $(TEST_READY)
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml infra/compose/gpu.yml
	$(BIN)/hadolint infra/docker/Dockerfile*
	$(BIN)/python infra/kubernetes/check.py

docs: $(TEST_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# Otherwise each process of pytest would compile all test files by itself.
compiled: $(TEST_READY)
	@$(BIN)/pytest --collect-only -q >/dev/null || $(BIN)/pytest --collect-only -q

unit: $(TEST_READY) $(FEDERATION_READY)
	LEAKRANGE_FEDERATION_PYTHON="$(abspath $(FEDERATION_VENV))/bin/python" $(BIN)/pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-slow: $(TEST_READY) $(FEDERATION_READY)
	LEAKRANGE_FEDERATION_PYTHON="$(abspath $(FEDERATION_VENV))/bin/python" $(BIN)/pytest -m slow --timeout 0 -o faulthandler_timeout=0 $(PYTEST_ARGS)

test-peers: $(TEST_READY) $(PEERS_READY)
	LEAKRANGE_PEERS_PYTHON="$(abspath $(PEERS_VENV))/bin/python" LEAKRANGE_MLSERVER_PYTHON="$(abspath $(MLSERVER_VENV))/bin/python" \
	  $(BIN)/pytest -m peers $(PYTEST_ARGS)

mutants: $(TEST_READY)
	$(BIN)/python -m tests.mutants

reproduce: $(DEMO_READY)
	$(BIN)/leakrange reproduce hbc --page .leakrange/reproduce/hbc.html
	$(BIN)/leakrange reproduce faceleaks --page .leakrange/reproduce/faceleaks.html
	$(BIN)/leakrange reproduce vicious --page .leakrange/reproduce/vicious.html
	$(BIN)/leakrange reproduce pass --page .leakrange/reproduce/pass.html
	$(BIN)/leakrange reproduce tappfl --page .leakrange/reproduce/tappfl.html
	$(BIN)/leakrange reproduce membership --page .leakrange/reproduce/membership.html

reproduce-quick: $(DEMO_READY)
	$(BIN)/leakrange reproduce hbc --quick --page .leakrange/reproduce/hbc-quick.html
	$(BIN)/leakrange reproduce faceleaks --quick --page .leakrange/reproduce/faceleaks-quick.html
	$(BIN)/leakrange reproduce vicious --quick --page .leakrange/reproduce/vicious-quick.html
	$(BIN)/leakrange reproduce pass --quick --page .leakrange/reproduce/pass-quick.html
	$(BIN)/leakrange reproduce tappfl --quick --page .leakrange/reproduce/tappfl-quick.html
	$(BIN)/leakrange reproduce membership --quick --page .leakrange/reproduce/membership-quick.html

COMPOSE_SECRETS := LEAKRANGE_OPERATOR_KEY LEAKRANGE_FLEET_SECRET POSTGRES_PASSWORD REDIS_OPERATOR_PASSWORD \
  REDIS_PROXY_PASSWORD REDIS_CONTROLLER_PASSWORD REDIS_FLEET_PASSWORD \
  $(foreach party,CONTROLLER PROVIDER ATTACKER TRAINER,S3_$(party)_ID S3_$(party)_SECRET) \
  POSTGRES_HONEST_PASSWORD POSTGRES_CURIOUS_PASSWORD POSTGRES_VICIOUS_PASSWORD
OBSERVE_SECRETS := LEAKRANGE_METRICS_KEY REDIS_FLOWER_PASSWORD FLOWER_PASSWORD GRAFANA_PASSWORD

# Names of models follow from it, so it stays when the operator key is rotated. Where that one was there first, they follow
# from that one already.
derivation_key = grep -q "^LEAKRANGE_DERIVATION_KEY=" $(1) || echo "LEAKRANGE_DERIVATION_KEY=$$(sed -n \
  's/^LEAKRANGE_OPERATOR_KEY=\([^,]*\).*/\1/p' $(1) | grep . || od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >> $(1)

# What is in .env stays: a newer version adds the secrets that it needs besides.
compose-env:
	@umask 077; touch .env; $(call derivation_key,.env); for name in $(COMPOSE_SECRETS) $(OBSERVE_SECRETS); do \
	  grep -q "^$$name=" .env || echo "$$name=$$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >> .env; \
	done
	@echo "every secret is in .env, each made at random; git ignores it"

KUBERNETES_ENV := infra/kubernetes/base/secrets.env
KUBERNETES_SECRETS := $(COMPOSE_SECRETS) REDIS_SCALER_PASSWORD RABBITMQ_PASSWORD

kubernetes-env:
	@umask 077; touch $(KUBERNETES_ENV); $(call derivation_key,$(KUBERNETES_ENV)); for name in $(KUBERNETES_SECRETS); do \
	  grep -q "^$$name=" $(KUBERNETES_ENV) || echo "$$name=$$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >> $(KUBERNETES_ENV); \
	done; \
	grep -q "^RABBITMQ_URL=" $(KUBERNETES_ENV) || \
	  sed -n 's|^RABBITMQ_PASSWORD=\(.*\)|RABBITMQ_URL=amqp://leakrange:\1@rabbitmq.leakrange.svc:5672/%2F|p' $(KUBERNETES_ENV) >> $(KUBERNETES_ENV)
	@echo "every secret is in $(KUBERNETES_ENV), each made at random; git ignores it"

federation-env: $(FEDERATION_READY)

peers-env: $(PEERS_READY)

# What is downloaded must have the hash that is written down, uv itself included. torch has none: it comes in many builds, local ones
# among them. pip checks hashes only where everything has one, so it is left to who asks for it.
# Installs the extra that a stamp is named after, or its group: $(call install,environment,constraints,what)
define install
	@"$(PYTHON)" -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Leakrange needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": try make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@test -x $(1)/bin/python || "$(PYTHON)" -m venv $(1)
	@echo "installing $* into $(1) ..."
	@sed -n '/^uv==/,/[^\\]$$/p' $(2).hashes.txt >$(1)/uv.txt
	@{ $(1)/bin/python -m pip install -q --require-hashes -r $(1)/uv.txt && \
	  $(1)/bin/uv pip install --python $(1)/bin/python \
	    -c $(2).txt -c $(2).hashes.txt -b $(2).hashes.txt $(3); } || \
	  { echo "To have pip install it without checking hashes: $(1)/bin/pip install -c $(2).txt $(3) && touch $@"; exit 1; }
	@touch $@
endef

$(VENV)/.installed-%: pyproject.toml constraints.txt constraints.hashes.txt
	$(call install,$(VENV),constraints,-e '.[$*]')

$(FEDERATION_VENV)/.installed-%: pyproject.toml constraints-federation.txt constraints-federation.hashes.txt
	$(call install,$(FEDERATION_VENV),constraints-federation,-e '.[$*]')

$(PEERS_VENV)/.installed-%: pyproject.toml constraints-peers.txt constraints-peers.hashes.txt
	$(call install,$(PEERS_VENV),constraints-peers,-e '.[$*]')

$(MLSERVER_VENV)/.installed-%: pyproject.toml constraints-mlserver.txt constraints-mlserver.hashes.txt
	$(call install,$(MLSERVER_VENV),constraints-mlserver,--group $*)

# All files that the package index has of the versions in the constraints; local wheels are not looked at.
refresh-pins:
	for name in constraints constraints-federation constraints-peers constraints-mlserver; do \
	  env -u UV_FIND_LINKS $(BIN)/uv pip compile --quiet --upgrade --no-deps --generate-hashes --no-annotate \
	    --custom-compile-command "make refresh-pins" --no-emit-package torch $$name.txt -o $$name.hashes.txt || exit 1; \
	done
	$(MAKE) --no-print-directory base-image

# The digest of the image that all others stand on, as the registry has it now: it needs Docker with buildx, and a network.
base-image:
	@image=$$(sed -n 's/^ARG PYTHON_IMAGE=\([^@]*\).*/\1/p' infra/docker/Dockerfile) && \
	digest=$$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$$image") && \
	sed "s|^ARG PYTHON_IMAGE=.*|ARG PYTHON_IMAGE=$$image@$$digest|" infra/docker/Dockerfile >infra/docker/Dockerfile.new && \
	mv infra/docker/Dockerfile.new infra/docker/Dockerfile && echo "$$image is $$digest"

clean:
	rm -rf $(VENV) $(FEDERATION_VENV) $(PEERS_VENV) $(MLSERVER_VENV) .leakrange build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
