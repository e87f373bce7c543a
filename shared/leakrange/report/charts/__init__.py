"""Pictures of a run: each module draws one kind of chart as small multiples and gives `Picture`s."""
