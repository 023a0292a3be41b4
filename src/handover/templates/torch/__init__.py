"""@description@

Written by warpsmith @version@ on @date@; README.md has the evidence.

    from @package@ import @plain@
    @example@
"""
from ._op import chosen, load, @plain@

__all__ = ["@plain@", "chosen", "load"]
__version__ = @packageVersion@
