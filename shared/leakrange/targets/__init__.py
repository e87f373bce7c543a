"""Models that somebody else serves: a file without code says how each is asked, and what its answers mean.

`target` is that file, `template` makes the bodies of requests from samples, `reading` finds the values in
answers, and `dialogue` joins them: the requests for a batch of samples, without a connection. `credentials`
prove who asks. The proxy sends the requests, and so do the commands that try a file.
"""
