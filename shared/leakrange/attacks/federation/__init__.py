"""What a curious server of a federation reads from the updates that devices send.

It has the parameters that it sent and those that came back, and nothing of the nets that devices keep
(TAPPFL's g and h): it does not know the gradient at the features, and no loss of any sample.
"""
