BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE cursors (
	name VARCHAR(128) NOT NULL, 
	position VARCHAR(128) NOT NULL, 
	CONSTRAINT pk_cursors PRIMARY KEY (name)
);
CREATE TABLE events (
	id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	seq INTEGER NOT NULL, 
	kind VARCHAR(64) NOT NULL, 
	data JSON NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY (id), 
	CONSTRAINT fk_events_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_events_run_id_seq UNIQUE (run_id, seq)
);
CREATE TABLE jobs (
	id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	identity VARCHAR(128) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	payload JSON NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	attempts INTEGER NOT NULL, 
	progress FLOAT NOT NULL, 
	worker VARCHAR(256), 
	created DATETIME NOT NULL, 
	started DATETIME, 
	finished DATETIME, 
	heartbeat DATETIME, 
	result JSON, 
	error TEXT, 
	CONSTRAINT pk_jobs PRIMARY KEY (id), 
	CONSTRAINT ck_jobs_kind CHECK (kind IN ('train', 'deploy', 'stream', 'probe', 'fit', 'evaluate')), 
	CONSTRAINT ck_jobs_state CHECK (state IN ('pending', 'dispatched', 'running', 'done', 'failed', 'cancelled')), 
	CONSTRAINT fk_jobs_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_jobs_run_id_identity UNIQUE (run_id, identity)
);
CREATE TABLE ledger (
	id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	policy VARCHAR(128) NOT NULL, 
	budget INTEGER NOT NULL, 
	spent INTEGER NOT NULL, 
	"distinct" INTEGER NOT NULL, 
	seen DATETIME NOT NULL, 
	CONSTRAINT pk_ledger PRIMARY KEY (id), 
	CONSTRAINT fk_ledger_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_ledger_run_id_name UNIQUE (run_id, name)
);
INSERT INTO "ledger" VALUES(1,'20261122-141112-b82a12','20261122-141112-b82a12.users.honest-s0.none.u0','none-4f53cda18c2b',32,32,32,'2026-11-22 14:12:10.036307');
INSERT INTO "ledger" VALUES(2,'20261122-141112-b82a12','20261122-141112-b82a12.users.honest-s0.label-only.u0','label-only-0bbf75c7b18d',32,32,32,'2026-11-22 14:12:10.035213');
INSERT INTO "ledger" VALUES(3,'20261122-141112-b82a12','20261122-141112-b82a12.users.curious-s0.none.u0','none-4f53cda18c2b',32,32,32,'2026-11-22 14:12:10.031944');
INSERT INTO "ledger" VALUES(4,'20261122-141112-b82a12','20261122-141112-b82a12.users.curious-s0.label-only.u0','label-only-0bbf75c7b18d',32,32,32,'2026-11-22 14:12:10.031250');
INSERT INTO "ledger" VALUES(5,'20261122-141112-b82a12','20261122-141112-b82a12.attacker.honest-s0.none.q0','none-4f53cda18c2b',32,32,32,'2026-11-22 14:12:10.030541');
INSERT INTO "ledger" VALUES(6,'20261122-141112-b82a12','20261122-141112-b82a12.attacker.honest-s0.label-only.q0','label-only-0bbf75c7b18d',32,32,32,'2026-11-22 14:12:10.029604');
INSERT INTO "ledger" VALUES(7,'20261122-141112-b82a12','20261122-141112-b82a12.attacker.curious-s0.none.q0','none-4f53cda18c2b',32,32,32,'2026-11-22 14:12:10.027830');
INSERT INTO "ledger" VALUES(8,'20261122-141112-b82a12','20261122-141112-b82a12.attacker.curious-s0.label-only.q0','label-only-0bbf75c7b18d',32,32,32,'2026-11-22 14:12:10.020354');
CREATE TABLE models (
	digest VARCHAR(64) NOT NULL, 
	data VARCHAR(128) NOT NULL, 
	behaviour VARCHAR(128) NOT NULL, 
	seed INTEGER NOT NULL, 
	recipe JSON NOT NULL, 
	figures JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_models PRIMARY KEY (digest)
);
INSERT INTO "models" VALUES('1b8fe01d52068eab6a23ad838151eef4cafbe6ca3c9bbbddf7e12744a35419b0','digits','honest',0,'{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"behaviour":"honest","parameters":{"target":"parity","beta":{"x":0.0}},"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"seed":0,"code":"708d28b350c3047c"}','{"figures":{"validation":{"samples":144.0,"honesty":0.875},"test":{"samples":359.0,"honesty":0.9164345403899722}},"history":[{"epoch":1.0,"loss":0.43969712938581196,"honesty":0.8611111111111112,"seconds":0.12030141399918648},{"epoch":2.0,"loss":0.27985372997465585,"honesty":0.875,"seconds":0.06636493900077767}],"seconds":0.5132150119989092,"parameters":514}','2026-11-22 14:11:31.759454');
INSERT INTO "models" VALUES('7df560574fbbbb0590998ea7a54c9f38a8d992994076a632ddbd00f652140c07','digits','curious/convex',0,'{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"behaviour":"curious/convex","parameters":{"target":"parity","sensitive":"slant","beta":{"y":0.7,"s":0.3}},"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"seed":0,"code":"b10b32afdbdf11ef"}','{"figures":{"validation":{"samples":144.0,"honesty":0.8333333333333334,"curiosity":0.4861111111111111,"majority":0.5138888888888888},"test":{"samples":359.0,"honesty":0.841225626740947,"curiosity":0.5459610027855153,"majority":0.532033426183844}},"history":[{"epoch":1.0,"loss":0.6093290873936245,"honesty":0.8333333333333334,"curiosity":0.4861111111111111,"seconds":0.12019841099936457},{"epoch":2.0,"loss":0.5179774420601981,"honesty":0.7916666666666666,"curiosity":0.5,"seconds":0.07193919599922083}],"seconds":0.7219088950005244,"parameters":514}','2026-11-22 14:11:31.821925');
CREATE TABLE runs (
	id VARCHAR(64) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	scenario_yaml TEXT NOT NULL, 
	scenario JSON NOT NULL, 
	"plan" JSON, 
	state VARCHAR(16) NOT NULL, 
	created DATETIME NOT NULL, 
	started DATETIME, 
	finished DATETIME, 
	error TEXT, 
	environment JSON NOT NULL, 
	seconds FLOAT, 
	events INTEGER NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (id), 
	CONSTRAINT ck_runs_state CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled'))
);
INSERT INTO "runs" VALUES('20261122-141112-b82a12','small','name: small
seeds: [0]
data: {name: digits}
net: {name: linear}
schedule: {epochs: 2, batch: 50, lr: 0.01}
providers:
  honest: {behaviour: honest, target: parity, sensitive: slant}
  curious: {behaviour: curious, method: convex, target: parity, sensitive: slant, release: logits}
clients:
  phones: {kind: edge, count: 2, samples: 32}
defences:
  none: []
  label-only: [argmax]
attacks:
  inside: {kind: curious-decoder}
  outside: {kind: attribute-inference, auxiliary: 50, epochs: 2, knowledge: [aware]}
budgets: [32]
','{"name":"small","description":"","seeds":[0],"budgets":[32],"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"chunk":64,"data":{"digits":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0}},"providers":{"honest":{"behaviour":"honest","method":null,"data":"digits","target":"parity","sensitive":"slant","release":"logits","service":null,"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"beta":{"x":0.0}},"curious":{"behaviour":"curious/convex","method":null,"data":"digits","target":"parity","sensitive":"slant","release":"logits","service":null,"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"beta":{"y":0.7,"s":0.3}}},"clients":{"phones":{"kind":"edge","count":2,"uploads":null,"samples":32,"defence":[]}},"defences":{"none":[],"label-only":[{"argmax":{}}]},"attacks":{"inside":{"kind":"curious-decoder","providers":["curious"],"knowledge":["unaware"]},"outside":{"kind":"attribute-inference","providers":["honest","curious"],"knowledge":["aware"],"auxiliary":50,"repeats":8,"epochs":2,"lr":0.003}}}','{"models":[{"id":"honest-s0","provider":"honest","seed":0,"data":"digits","recipe":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"behaviour":"honest","parameters":{"target":"parity","beta":{"x":0.0}},"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"seed":0,"code":"708d28b350c3047c"},"release":"logits","target":"parity","sensitive":"slant","service":null,"teacher":null},{"id":"curious-s0","provider":"curious","seed":0,"data":"digits","recipe":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"behaviour":"curious/convex","parameters":{"target":"parity","sensitive":"slant","beta":{"y":0.7,"s":0.3}},"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"seed":0,"code":"b10b32afdbdf11ef"},"release":"logits","target":"parity","sensitive":"slant","service":null,"teacher":null}],"shadows":[],"policies":[{"defence":"none","chain":[],"digest":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},{"defence":"label-only","chain":[{"argmax":{}}],"digest":"0bbf75c7b18da06709671361dfaafa2f5f314ae699f6beeb69ab6762571e09ae"}],"streams":[{"id":"honest-s0.none.u0","model":"honest-s0","defence":"none","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]},{"id":"honest-s0.label-only.u0","model":"honest-s0","defence":"label-only","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]},{"id":"curious-s0.none.u0","model":"curious-s0","defence":"none","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]},{"id":"curious-s0.label-only.u0","model":"curious-s0","defence":"label-only","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]}],"probes":[{"id":"honest-s0.none.q0","model":"honest-s0","defence":"none","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"},{"id":"honest-s0.label-only.q0","model":"honest-s0","defence":"label-only","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"},{"id":"curious-s0.none.q0","model":"curious-s0","defence":"none","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"},{"id":"curious-s0.label-only.q0","model":"curious-s0","defence":"label-only","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"}],"trials":[{"result":{"id":"honest-s0.none.outside.aware.b32","provider":"honest","data":"digits","behaviour":"honest","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"honest-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["honest-s0.none.u0"],"probes":["honest-s0.none.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null},{"result":{"id":"honest-s0.label-only.outside.aware.b32","provider":"honest","data":"digits","behaviour":"honest","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"honest-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["honest-s0.label-only.u0"],"probes":["honest-s0.label-only.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null},{"result":{"id":"curious-s0.none.inside.unaware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"inside","knowledge":"unaware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"provider","attack":"curious-decoder","parameters":{},"streams":["curious-s0.none.u0"],"probes":[],"auxiliary_count":0,"span":null,"members":null,"people":null},{"result":{"id":"curious-s0.none.outside.aware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["curious-s0.none.u0"],"probes":["curious-s0.none.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null},{"result":{"id":"curious-s0.label-only.inside.unaware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"inside","knowledge":"unaware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"provider","attack":"curious-decoder","parameters":{},"streams":["curious-s0.label-only.u0"],"probes":[],"auxiliary_count":0,"span":null,"members":null,"people":null},{"result":{"id":"curious-s0.label-only.outside.aware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["curious-s0.label-only.u0"],"probes":["curious-s0.label-only.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null}],"classes":{"digits":{"parity":["even","odd"],"slant":["forward","backward"]}}}','done','2026-11-22 14:11:12.963949','2026-11-22 14:11:13.110770','2026-11-22 14:12:10.053141',NULL,'{"python":"3.11.7","platform":"Linux x86_64","processors":"2","training code":"a5e336bf63be0565","leakrange":"0.1.0","fastapi":"0.165.0","numpy":"2.4.6","pydantic":"2.14.3","celery":"5.7.0","sqlalchemy":"2.1.9","matplotlib":"3.11.2"}',56.942371,0);
INSERT INTO "runs" VALUES('20261122-141230-c82bfc','unfinished','name: small
seeds: [0]
data: {name: digits}
net: {name: linear}
schedule: {epochs: 2, batch: 50, lr: 0.01}
providers:
  honest: {behaviour: honest, target: parity, sensitive: slant}
  curious: {behaviour: curious, method: convex, target: parity, sensitive: slant, release: logits}
clients:
  phones: {kind: edge, count: 2, samples: 32}
defences:
  none: []
  label-only: [argmax]
attacks:
  inside: {kind: curious-decoder}
  outside: {kind: attribute-inference, auxiliary: 50, epochs: 2, knowledge: [aware]}
budgets: [32]
','{"name":"small","description":"","seeds":[0],"budgets":[32],"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"chunk":64,"data":{"digits":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0}},"providers":{"honest":{"behaviour":"honest","method":null,"data":"digits","target":"parity","sensitive":"slant","release":"logits","service":null,"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"beta":{"x":0.0}},"curious":{"behaviour":"curious/convex","method":null,"data":"digits","target":"parity","sensitive":"slant","release":"logits","service":null,"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"beta":{"y":0.7,"s":0.3}}},"clients":{"phones":{"kind":"edge","count":2,"uploads":null,"samples":32,"defence":[]}},"defences":{"none":[],"label-only":[{"argmax":{}}]},"attacks":{"inside":{"kind":"curious-decoder","providers":["curious"],"knowledge":["unaware"]},"outside":{"kind":"attribute-inference","providers":["honest","curious"],"knowledge":["aware"],"auxiliary":50,"repeats":8,"epochs":2,"lr":0.003}}}','{"models":[{"id":"honest-s0","provider":"honest","seed":0,"data":"digits","recipe":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"behaviour":"honest","parameters":{"target":"parity","beta":{"x":0.0}},"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"seed":0,"code":"708d28b350c3047c"},"release":"logits","target":"parity","sensitive":"slant","service":null,"teacher":null},{"id":"curious-s0","provider":"curious","seed":0,"data":"digits","recipe":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"behaviour":"curious/convex","parameters":{"target":"parity","sensitive":"slant","beta":{"y":0.7,"s":0.3}},"net":{"name":"linear","width":1.0},"schedule":{"epochs":2,"batch":50,"lr":0.01,"channels_last":true,"bf16":false},"seed":0,"code":"b10b32afdbdf11ef"},"release":"logits","target":"parity","sensitive":"slant","service":null,"teacher":null}],"shadows":[],"policies":[{"defence":"none","chain":[],"digest":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},{"defence":"label-only","chain":[{"argmax":{}}],"digest":"0bbf75c7b18da06709671361dfaafa2f5f314ae699f6beeb69ab6762571e09ae"}],"streams":[{"id":"honest-s0.none.u0","model":"honest-s0","defence":"none","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]},{"id":"honest-s0.label-only.u0","model":"honest-s0","defence":"label-only","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]},{"id":"curious-s0.none.u0","model":"curious-s0","defence":"none","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]},{"id":"curious-s0.label-only.u0","model":"curious-s0","defence":"label-only","draw":0,"clients":2,"local":[],"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"test","start":0,"stop":32}]}],"probes":[{"id":"honest-s0.none.q0","model":"honest-s0","defence":"none","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"},{"id":"honest-s0.label-only.q0","model":"honest-s0","defence":"label-only","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"},{"id":"curious-s0.none.q0","model":"curious-s0","defence":"none","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"},{"id":"curious-s0.label-only.q0","model":"curious-s0","defence":"label-only","draw":0,"spans":[{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32}],"by":"attacker"}],"trials":[{"result":{"id":"honest-s0.none.outside.aware.b32","provider":"honest","data":"digits","behaviour":"honest","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"honest-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["honest-s0.none.u0"],"probes":["honest-s0.none.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null},{"result":{"id":"honest-s0.label-only.outside.aware.b32","provider":"honest","data":"digits","behaviour":"honest","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"honest-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["honest-s0.label-only.u0"],"probes":["honest-s0.label-only.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null},{"result":{"id":"curious-s0.none.inside.unaware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"inside","knowledge":"unaware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"provider","attack":"curious-decoder","parameters":{},"streams":["curious-s0.none.u0"],"probes":[],"auxiliary_count":0,"span":null,"members":null,"people":null},{"result":{"id":"curious-s0.none.outside.aware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["curious-s0.none.u0"],"probes":["curious-s0.none.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null},{"result":{"id":"curious-s0.label-only.inside.unaware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"inside","knowledge":"unaware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"provider","attack":"curious-decoder","parameters":{},"streams":["curious-s0.label-only.u0"],"probes":[],"auxiliary_count":0,"span":null,"members":null,"people":null},{"result":{"id":"curious-s0.label-only.outside.aware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"queued","error":null,"victims":null,"spent":null,"honesty":null,"curiosity":null,"majority":null,"nag":null,"auc":null,"roc":null,"confusion":null,"membership":null},"model":"curious-s0","where":"fleet","attack":"attribute-inference","parameters":{"sensitive":"slant","auxiliary":50,"repeats":8,"epochs":2,"lr":0.003},"streams":["curious-s0.label-only.u0"],"probes":["curious-s0.label-only.q0"],"auxiliary_count":32,"span":{"data":{"name":"digits","size":null,"limit":null,"count":null,"validation":0.1,"auxiliary":0.15,"seed":0},"split":"auxiliary","start":0,"stop":32},"members":null,"people":null}],"classes":{"digits":{"parity":["even","odd"],"slant":["forward","backward"]}}}','running','2026-11-22 14:12:30.615367','2026-11-22 14:12:30.633625',NULL,NULL,'{"python":"3.11.7","platform":"Linux x86_64","processors":"2","training code":"a5e336bf63be0565","leakrange":"0.1.0","fastapi":"0.165.0","numpy":"2.4.6","pydantic":"2.14.3","celery":"5.7.0","sqlalchemy":"2.1.9","matplotlib":"3.11.2"}',NULL,0);
CREATE TABLE served (
	id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	model VARCHAR(128) NOT NULL, 
	plays VARCHAR(128) NOT NULL, 
	CONSTRAINT pk_served PRIMARY KEY (id), 
	CONSTRAINT fk_served_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_served_run_id_model UNIQUE (run_id, model)
);
CREATE TABLE trials (
	id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	trial VARCHAR(256) NOT NULL, 
	result JSON NOT NULL, 
	CONSTRAINT pk_trials PRIMARY KEY (id), 
	CONSTRAINT fk_trials_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_trials_run_id_trial UNIQUE (run_id, trial)
);
INSERT INTO "trials" VALUES(1,'20261122-141112-b82a12','honest-s0.none.outside.aware.b32','{"id":"honest-s0.none.outside.aware.b32","provider":"honest","data":"digits","behaviour":"honest","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"done","error":null,"victims":32,"spent":32,"honesty":0.9375,"curiosity":0.4375,"majority":0.5625,"nag":0.0,"auc":0.5,"roc":{"fpr":[0.0,1.0],"tpr":[0.0,1.0]},"confusion":[[14,0],[18,0]],"membership":null}');
INSERT INTO "trials" VALUES(2,'20261122-141112-b82a12','honest-s0.label-only.outside.aware.b32','{"id":"honest-s0.label-only.outside.aware.b32","provider":"honest","data":"digits","behaviour":"honest","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"done","error":null,"victims":32,"spent":32,"honesty":0.9375,"curiosity":0.4375,"majority":0.5625,"nag":0.0,"auc":0.5,"roc":{"fpr":[0.0,1.0],"tpr":[0.0,1.0]},"confusion":[[14,0],[18,0]],"membership":null}');
INSERT INTO "trials" VALUES(3,'20261122-141112-b82a12','curious-s0.none.inside.unaware.b32','{"id":"curious-s0.none.inside.unaware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"inside","knowledge":"unaware","budget":32,"seed":0,"state":"done","error":null,"victims":32,"spent":32,"honesty":0.9375,"curiosity":0.46875,"majority":0.5625,"nag":0.0,"auc":0.4722222222222222,"roc":{"fpr":[0.0,0.0,0.0,0.0,0.07142857142857142,0.07142857142857142,0.14285714285714285,0.21428571428571427,0.21428571428571427,0.2857142857142857,0.2857142857142857,0.35714285714285715,0.42857142857142855,0.42857142857142855,0.5,0.5,0.5714285714285714,0.6428571428571429,0.7142857142857143,0.7142857142857143,0.7142857142857143,0.7857142857142857,0.7857142857142857,0.7857142857142857,0.7857142857142857,0.7857142857142857,0.7857142857142857,0.7857142857142857,0.8571428571428571,0.9285714285714286,0.9285714285714286,0.9285714285714286,1.0],"tpr":[0.0,0.05555555555555555,0.1111111111111111,0.16666666666666666,0.16666666666666666,0.2222222222222222,0.2222222222222222,0.2222222222222222,0.2777777777777778,0.2777777777777778,0.3333333333333333,0.3333333333333333,0.3333333333333333,0.3888888888888889,0.3888888888888889,0.4444444444444444,0.4444444444444444,0.4444444444444444,0.4444444444444444,0.5,0.5555555555555556,0.5555555555555556,0.6111111111111112,0.6666666666666666,0.7222222222222222,0.7777777777777778,0.8333333333333334,0.8888888888888888,0.8888888888888888,0.8888888888888888,0.9444444444444444,1.0,1.0]},"confusion":[[7,7],[10,8]],"membership":null}');
INSERT INTO "trials" VALUES(4,'20261122-141112-b82a12','curious-s0.none.outside.aware.b32','{"id":"curious-s0.none.outside.aware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"none","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"done","error":null,"victims":32,"spent":32,"honesty":0.9375,"curiosity":0.4375,"majority":0.5625,"nag":0.0,"auc":0.5,"roc":{"fpr":[0.0,1.0],"tpr":[0.0,1.0]},"confusion":[[14,0],[18,0]],"membership":null}');
INSERT INTO "trials" VALUES(5,'20261122-141112-b82a12','curious-s0.label-only.inside.unaware.b32','{"id":"curious-s0.label-only.inside.unaware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"inside","knowledge":"unaware","budget":32,"seed":0,"state":"done","error":null,"victims":32,"spent":32,"honesty":0.9375,"curiosity":0.46875,"majority":0.5625,"nag":0.0,"auc":0.4722222222222222,"roc":{"fpr":[0.0,0.5,1.0],"tpr":[0.0,0.4444444444444444,1.0]},"confusion":[[7,7],[10,8]],"membership":null}');
INSERT INTO "trials" VALUES(6,'20261122-141112-b82a12','curious-s0.label-only.outside.aware.b32','{"id":"curious-s0.label-only.outside.aware.b32","provider":"curious","data":"digits","behaviour":"curious/convex","release":"logits","target":"parity","sensitive":"slant","defence":"label-only","attack":"outside","knowledge":"aware","budget":32,"seed":0,"state":"done","error":null,"victims":32,"spent":32,"honesty":0.9375,"curiosity":0.4375,"majority":0.5625,"nag":0.0,"auc":0.5,"roc":{"fpr":[0.0,1.0],"tpr":[0.0,1.0]},"confusion":[[14,0],[18,0]],"membership":null}');
INSERT INTO "trials" VALUES(7,'20261122-141230-c82bfc','curious-s0.label-only.inside.unaware.b32','{"id": "curious-s0.label-only.inside.unaware.b32", "provider": "curious", "data": "digits", "behaviour": "curious/convex", "release": "logits", "target": "parity", "sensitive": "slant", "defence": "label-only", "attack": "inside", "knowledge": "unaware", "budget": 32, "seed": 0, "state": "running", "error": null}');
CREATE TABLE truths (
	id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	upload VARCHAR(128) NOT NULL, 
	labels JSON NOT NULL, 
	decisions JSON NOT NULL, 
	input_bytes INTEGER NOT NULL, 
	sent_bytes INTEGER NOT NULL, 
	CONSTRAINT pk_truths PRIMARY KEY (id), 
	CONSTRAINT fk_truths_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT uq_truths_run_id_upload UNIQUE (run_id, upload)
);
CREATE INDEX ix_runs_created_id ON runs (created, id);
CREATE INDEX ix_runs_state ON runs (state);
CREATE INDEX ix_jobs_identity ON jobs (identity);
CREATE INDEX ix_jobs_run_id_state ON jobs (run_id, state);
CREATE INDEX ix_served_model ON served (model);
COMMIT;
