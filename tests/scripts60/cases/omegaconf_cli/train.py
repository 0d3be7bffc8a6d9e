from omegaconf import OmegaConf

from dump import dump

defaults = OmegaConf.create({"seed": 0, "config": None, "model": {"lr": 0.5, "units": [16]},
                             "data": {"root": "data"}})
given = OmegaConf.from_cli()
file = OmegaConf.load(given.config) if "config" in given else {}
dump(OmegaConf.to_container(OmegaConf.merge(defaults, file, given)))
