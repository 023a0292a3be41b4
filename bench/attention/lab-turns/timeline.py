"""What the warpgroups of 8 CTAs did in each step, from what TIMELINE=1 recorded: timeline.py CONSUMERS KEY_TILES FILE...

Clocks from one event to the next, means over steps inside a query tile and over those at its border: waiting for keys and values, waiting
for the turn, asking for products, until products are there, and the rest up to the next step (`last`: with the wait for the next queries). `round` is a step as a whole, and `held`
is the time from a warpgroup's turn to the next warpgroup's.
"""
import struct, sys

STEPS, WORDS = 256, 8
WAITS, READY, ASKED, DONE, SOFTMAX, _, TURN = range(7)


def clocks(later, earlier):
    return (later - earlier) & 0xffffffff


def summary(path, consumers, key_tiles):
    raw = open(path, 'rb').read()
    words = struct.unpack(f'<{len(raw) // 4}I', raw)
    at = lambda cta, group, step: words[((cta * consumers + group) * STEPS + step) * WORDS:][:WORDS]
    sums = {}
    for cta in range(8):
        for step in range(key_tiles, STEPS - 1):
            if any(at(cta, g, s)[DONE] == 0 for g in range(consumers) for s in (step, step + 1)):
                continue
            place = {0: 'border', 1: 'second', key_tiles - 1: 'last'}.get(step % key_tiles, 'inside')
            for group in range(consumers):
                now, after = at(cta, group, step), at(cta, group, step + 1)
                following = at(cta, group + 1, step) if group + 1 < consumers else at(cta, 0, step + 1)
                parts = {
                    'keys': clocks(now[READY], now[WAITS]),
                    'turn': clocks(now[TURN], now[READY]),
                    'ask': clocks(now[ASKED], now[TURN]),
                    'products': clocks(now[DONE], now[ASKED]),
                    'softmax': clocks(now[SOFTMAX], now[DONE]),
                    'rest': clocks(after[WAITS], now[SOFTMAX]),
                    'round': clocks(after[WAITS], now[WAITS]),
                    'held': clocks(following[TURN], now[TURN]),
                }
                # A warpgroup without rows in a tile leaves what an earlier launch wrote there.
                if max(parts.values()) > 50000:
                    continue
                for name, value in parts.items():
                    sums.setdefault(place, {}).setdefault(name, []).append(value)
    for place, parts in sums.items():
        print(path, place, len(parts['round']), ' '.join(f'{n} {sum(v) / len(v):.0f}' for n, v in parts.items()))


for file in sys.argv[3:]:
    summary(file, int(sys.argv[1]), int(sys.argv[2]))
