"""Varied pictures show what the stored ones show: mirrored, moved by a little, brighter or darker."""

import torch

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import Schedule
from leakrange.providers.loop import Lessons, Trainer
from leakrange.providers.training import Training
from leakrange.providers.variation import varied
from tests.providers.conftest import CASES, recipe

HEIGHT, WIDTH, COUNT = 16, 24, 400


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_every_picture_is_moved_mirrored_and_lit_by_itself() -> None:
    """A picture that names its rows in red and its columns in green: its middle tells what became of it."""
    rows = torch.arange(HEIGHT)[:, None].expand(HEIGHT, WIDTH)
    columns = torch.arange(WIDTH)[None].expand(HEIGHT, WIDTH)
    light = torch.full((HEIGHT, WIDTH), 100)
    one = torch.stack([4 * rows, 4 * columns, light], dim=2).to(torch.uint8)
    found = varied(one.expand(COUNT, *one.shape).contiguous(), generator()).double()
    bright = found[..., 2].mean(dim=(1, 2)) / 100
    assert found[..., 2].flatten(1).std(dim=1).max() == 0.0
    assert 0.74 <= float(bright.min()) < 0.77
    assert 1.23 < float(bright.max()) <= 1.26
    straight = found / bright[:, None, None, None] / 4
    down = (straight[:, 8, 12, 0] - 8).round()
    mirrored = straight[:, 8, 16, 1] < straight[:, 8, 8, 1]
    assert 160 <= int(mirrored.sum()) <= 240
    at = torch.where(mirrored, WIDTH - 1 - straight[:, 8, 12, 1], straight[:, 8, 12, 1])
    across = torch.where(mirrored, 12 - at, at - 12).round()
    assert set(down.tolist()) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert len(set(across.tolist())) == 7  # 24 // 8 either way
    edges = straight[:, 0, 12, 0].round()
    assert set(edges[down == -2].tolist()) == {0.0}  # the border is repeated


def test_no_pixel_leaves_its_range_and_a_seed_says_all() -> None:
    pictures = torch.randint(0, 256, (40, 16, 16, 3), dtype=torch.uint8, generator=generator(3))
    pictures[:20] = 255
    found = varied(pictures, generator())
    assert found.dtype == torch.uint8
    assert found.shape == pictures.shape
    assert int(found[:20].min()) >= 190  # brighter white stays white
    assert torch.equal(found, varied(pictures, generator()))
    assert not torch.equal(found, varied(pictures, generator(1)))


def test_a_batch_of_varied_pictures_is_no_larger_than_it_was() -> None:
    seen: list[torch.Tensor] = []

    class Watching:
        def step(self, *batch: torch.Tensor | None) -> torch.Tensor:
            assert batch[0] is not None
            seen.append(batch[0])
            return torch.zeros(())

    lessons = Lessons(torch.randint(0, 256, (12, 16, 16, 3), dtype=torch.uint8), torch.arange(12))
    for augment in ("varied", True, False):
        Trainer(Watching(), lessons, batch=12, generator=generator(), augment=augment).epoch()
    assert [len(inputs) for inputs in seen] == [12, 24, 12]
    assert not torch.equal(seen[0].sort(dim=0).values, seen[2].sort(dim=0).values)


def test_a_recipe_says_whether_pictures_are_varied(images: Samples) -> None:
    plain = recipe(*CASES["honest"])
    schedule = Schedule.model_validate(plain.schedule.model_dump() | {"augment": "varied"})
    changed = plain.model_copy(update={"schedule": schedule})
    assert changed.digest() != plain.digest()
    assert [Training(each, images).trainer.augment for each in (plain, changed)] == [False, "varied"]
