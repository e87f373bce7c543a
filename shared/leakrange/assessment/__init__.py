"""An assessment of an endpoint: from a target and a file of records to a verdict.

`question` says what is to be found out, `plan` chooses attacks and says what they cost and can show, `judged`
reads the results of the run that carries the plan out, `prices` what leakage costs in samples.
`document` holds the forms of all these.
"""
