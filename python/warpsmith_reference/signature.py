"""python3 -s -S -B signature.py FILE: the functions of a file and their parameters, as JSON. Runs nothing of it."""

import ast
import json
import sys
from typing import Any, Dict, List, Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def described(function: Function) -> Dict[str, Any]:
    places = [*function.args.posonlyargs, *function.args.args]
    needed = len(places) - len(function.args.defaults)
    return {"name": function.name, "parameters": [one.arg for one in places], "needed": needed}


def functions_in(text: str) -> List[Dict[str, Any]]:
    return [described(one) for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        print(json.dumps(functions_in(source.read())))
