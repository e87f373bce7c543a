import pytest
import torch

from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.nets.decoder import AttackNet
from leakrange.wire.samples import SampleSpec


@pytest.mark.parametrize(("classes", "parameters"), [(2, 248_834), (3, 248_963), (4, 249_092), (5, 249_221)])
def test_the_classifier_has_the_parameters_of_table_12(classes: int, parameters: int) -> None:
    assert nets["hbc"].build(SampleSpec.picture(64, 64, 3), classes).parameter_count() == parameters


@pytest.mark.parametrize(
    ("outputs", "classes", "parameters"),
    [(2, 2, 982), (3, 2, 2_132), (3, 3, 2_163), (4, 2, 3_722), (5, 2, 5_752), (5, 5, 5_905)],
)
def test_the_attack_net_has_the_parameters_of_table_13(outputs: int, classes: int, parameters: int) -> None:
    assert sum(p.numel() for p in AttackNet(outputs, classes).parameters()) == parameters


def test_the_layers_are_those_of_table_12() -> None:
    net = nets["hbc"].build(SampleSpec.picture(64, 64, 3), 2).eval()
    sizes = []
    x = torch.zeros(1, 3, 64, 64)
    for layer in net.body:  # type: ignore[attr-defined]
        x = layer(x)
        if isinstance(layer, torch.nn.Conv2d):
            sizes.append(tuple(x.shape[1:]))
    assert sizes == [(128, 32, 32), (128, 16, 16), (64, 8, 8), (64, 4, 4)]
    assert x.shape == (1, 128)


@pytest.mark.parametrize("size", [16, 17, 28, 32, 64, 100])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_size_from_16_pixels_has_a_map_of_at_least_4(size: int, channels: int) -> None:
    net = nets["hbc"].build(SampleSpec.picture(size, size, channels), 3, width=0.25).eval()
    x = to_input(torch.zeros(2, size, size, channels, dtype=torch.uint8), net.spec)
    smallest = size
    with torch.inference_mode():
        assert net(x).shape == (2, 3)
        assert net.features(x).shape == (2, 32)
        for layer in net.body:  # type: ignore[attr-defined]
            x = layer(x)
            if x.ndim == 4:
                smallest = min(smallest, x.shape[-1])
    assert 4 <= smallest < 8


def test_a_smaller_image_is_refused() -> None:
    with pytest.raises(ValueError, match="16 pixels"):
        nets["hbc"].build(SampleSpec.picture(15, 40, 3), 2)


def test_width_scales_the_feature_vector_and_the_parameters() -> None:
    narrow, full = (nets["hbc"].build(SampleSpec.picture(32, 32, 3), 2, width) for width in (0.5, 1.0))
    assert (narrow.feature_count, full.feature_count) == (64, 128)
    assert narrow.parameter_count() < full.parameter_count() / 3
    counted = full.parameter_count()
    assert full.requires_grad_(False).parameter_count() == counted  # frozen ones are downloaded, too


def test_logits_are_the_head_on_the_features() -> None:
    net = nets["hbc"].build(SampleSpec.picture(16, 16, 3), 2).eval()
    x = torch.randn(4, 3, 16, 16)
    torch.testing.assert_close(net(x), net.head(net.features(x)))


def test_pixels_are_scaled_to_minus_one_to_one_and_channels_come_first() -> None:
    images = torch.zeros(1, 2, 3, 3, dtype=torch.uint8)
    images[0, 1, 2, 0] = 255
    x = to_input(images, SampleSpec.picture(2, 3, 3))
    assert x.shape == (1, 3, 2, 3)
    assert x.dtype == torch.float32
    assert x[0, 0, 1, 2] == 1.0
    assert x.sum() == 1.0 - 17.0
    assert images.sum() == 255  # the stored images are not touched


@pytest.mark.parametrize("channels", [1, 3])
def test_each_channel_column_or_entry_has_its_own_scale(channels: int) -> None:
    scale, offset = tuple(2.0 + i for i in range(channels)), tuple(-1.0 * i for i in range(channels))
    columns = tuple("abc"[:channels])
    series = SampleSpec(encoding="series", shape=(5, channels), dtype="float32", scale=scale, offset=offset)
    table = SampleSpec(
        encoding="table", shape=(channels,), dtype="float32", scale=scale, offset=offset, columns=columns
    )
    steps, rows = torch.randn(4, 5, channels), torch.randn(4, channels)
    wanted = [torch.tensor(scale), torch.tensor(offset)]
    torch.testing.assert_close(to_input(rows, table), rows / wanted[0] + wanted[1])
    torch.testing.assert_close(to_input(steps, series), (steps / wanted[0] + wanted[1]).permute(0, 2, 1))


def test_the_samples_themselves_stay_as_they_are() -> None:
    rows = torch.ones(2, 3)
    spec = SampleSpec(encoding="vector", shape=(3,), dtype="float32", scale=2.0)
    assert to_input(rows, spec).max() == 0.5
    assert rows.min() == 1.0


@pytest.mark.parametrize("name", sorted(nets))
def test_a_net_refuses_what_it_does_not_take(name: str) -> None:
    given = {
        "picture": SampleSpec.picture(160, 160, 3),
        "table": SampleSpec(encoding="table", shape=(2,), dtype="float32", columns=("a", "b")),
        "series": SampleSpec(encoding="series", shape=(400, 16), dtype="float32"),
        "vector": SampleSpec(encoding="vector", shape=(16,), dtype="float32"),
    }
    for encoding, spec in given.items():
        reason = nets[name].misfit(spec)
        assert (reason is None) == (encoding in (nets[name].encodings or given))
        if reason is None:
            x = to_input(torch.zeros(2, *spec.shape, dtype=getattr(torch, spec.dtype)), spec)
            with torch.inference_mode():
                assert nets[name].build(spec, 3).eval()(x).shape == (2, 3)
        else:
            with pytest.raises(ValueError, match=f"not {encoding}"):
                nets[name].build(spec, 3)


def test_hidden_layers_of_the_attack_net_stay_small_on_long_releases() -> None:
    assert sum(p.numel() for p in AttackNet(128, 2).parameters()) < 100_000
