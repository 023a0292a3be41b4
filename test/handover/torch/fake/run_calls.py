"""Calls exported packages as a user would, on a fake PyTorch and a fake driver, and prints what reached the driver.

Standard input: {"device": {...}, "packages": [{"folder", "name", "function", "argumentBytes", "calls": [
    {"tensors": [{"shape", "strides", "dtype", "address"}], "options": {...}}]}]}
Standard output: for every package and call {"events", "results", "allocations", "kept"} or {"error"}.
"""
import importlib
import json
import sys

import torch

from fake_driver import FakeDriver


def tensor(spec):
    where = torch.device(spec.get("device", "cuda:0"))
    return torch.Tensor(spec["shape"], spec["strides"], getattr(torch, spec["dtype"]), where, spec["address"])


def describe(made):
    return {"address": made.data_ptr(), "shape": made.shape, "strides": made.stride(), "dtype": made.dtype.name}


def run(function, operator, driver, call):
    driver.events.clear()
    torch.allocations.clear()
    try:
        results = function(*map(tensor, call["tensors"]), **call["options"])
    except (TypeError, ValueError, RuntimeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    results = [] if results is None else list(results) if isinstance(results, tuple) else [results]
    return {
        "events": list(driver.events),
        "results": [describe(result) for result in results],
        "kept": [{"key": key[2], "address": address} for key, address in operator._devices[0].kept.items()],
        "allocations": [describe(made) for made in torch.allocations if made.dtype is torch.uint8],
    }


request = json.load(sys.stdin)
answers = []
for package in request["packages"]:
    sys.path.insert(0, package["folder"])
    module = importlib.import_module(package["name"])
    driver = FakeDriver(package["argumentBytes"], **request["device"])
    operator = importlib.import_module(f"{package['name']}._op").OPERATOR
    wrap = importlib.import_module(f"{package['name']}._driver").Driver
    operator._open_driver = lambda driver=driver, wrap=wrap: wrap(driver)
    answers.append([run(getattr(module, package["function"]), operator, driver, call) for call in package["calls"]])
    del sys.path[0]
json.dump(answers, sys.stdout)
