import torch

from leakrange.nets.decoder import AttackNet, StackedAttackNets


def test_side_by_side_they_answer_and_learn_as_each_would_alone() -> None:
    torch.manual_seed(0)
    nets = [AttackNet(3, 2, dropout=0.0) for _ in range(4)]
    stacked = StackedAttackNets(nets)
    releases = torch.randn(4, 10, 3)
    together = stacked(releases)
    together.square().sum().backward()
    for i, net in enumerate(nets):
        alone = net(releases[i])
        torch.testing.assert_close(together[i], alone)
        alone.square().sum().backward()
        first = net.layers[0]
        assert isinstance(first, torch.nn.Linear)
        assert first.weight.grad is not None
        assert stacked.weights[0].grad is not None
        torch.testing.assert_close(stacked.weights[0].grad[i].T, first.weight.grad)


def test_they_drop_out_in_training_mode_alone() -> None:
    torch.manual_seed(0)
    stacked = StackedAttackNets([AttackNet(3, 2) for _ in range(2)])
    x = torch.randn(2, 5, 3)
    assert not torch.equal(stacked(x), stacked(x))
    stacked.eval()
    assert torch.equal(stacked(x), stacked(x))
