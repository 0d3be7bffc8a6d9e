"""Whether the driver's power samples are instants or means, and of how long: response.py [SECONDS_FOR_EACH] (default 8).
The load is switched on and off with several periods. A sample that is the mean of W ms cannot follow what is much faster than W, one
that is an instant can. Each sample is compared with the load as it was switched, averaged over W ms that ended D ms before the
sample's stamp (box), or smoothed by a filter of the first order with time constant T (lag): the best W, D and T are printed, with
the share of the samples' variance that they explain."""
import bisect
import math
import statistics
import sys
import time

PERIODS_MS = (30, 60, 120, 250, 500, 1000)
GRID_US = 500


def collect(seconds):
    import torch
    from driver import power_samples
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    b, c = torch.randn_like(a), torch.empty_like(a)

    def burn(until):
        while time.time() < until:
            for _ in range(4):
                torch.mm(a, b, out=c)
            torch.cuda.synchronize()

    burn(time.time() + 5)
    bursts, samples, parts, seen = [], {}, [], 0
    for period_ms in PERIODS_MS:
        begin = due = time.time()
        looked = begin
        while due < begin + seconds:
            on = time.time()
            burn(due + period_ms / 2000)
            bursts.append((on * 1e6, time.time() * 1e6))
            due += period_ms / 1000
            if time.time() - looked > 1:
                looked = time.time()
                samples.update(power_samples())
            time.sleep(max(0, due - time.time()))
        time.sleep(0.05)
        samples.update(power_samples())
        parts.append((period_ms, begin * 1e6 + 3e5, time.time() * 1e6 - 1e5))
    told = sorted(samples.items())
    return bursts, [s for s, before in zip(told, [(0, 0)] + told) if s[0] - before[0] > 1000], parts


class Load:
    """The share of time at load up to a moment, on a grid."""

    def __init__(self, bursts, begin, end):
        self.begin = begin
        self.on = [0.0] * (int((end - begin) / GRID_US) + 2)
        for start, stop in bursts:
            first, last = (start - begin) / GRID_US, (stop - begin) / GRID_US
            for k in range(int(first), min(int(last) + 1, len(self.on))):
                self.on[k] += max(0.0, min(k + 1, last) - max(k, first))
        self.sum = [0.0]
        for share in self.on:
            self.sum.append(self.sum[-1] + share)

    def total(self, t):
        at = (t - self.begin) / GRID_US
        k = int(at)
        return self.sum[k] + (at - k) * self.on[k]

    def box(self, width_us):
        if width_us <= 0:
            return lambda t: self.on[int((t - self.begin) / GRID_US)]
        return lambda t: (self.total(t) - self.total(t - width_us)) * GRID_US / width_us

    def lag(self, tau_us):
        keep, state, out = math.exp(-GRID_US / tau_us), 0.0, []
        for share in self.on:
            state = state * keep + share * (1 - keep)
            out.append(state)
        return lambda t: out[int((t - self.begin) / GRID_US)]


def explained(load, samples, delay_us):
    """The share of the variance that a straight line over the load explains."""
    x, y = [load(t - delay_us) for t, _ in samples], [watts for _, watts in samples]
    mx, my = statistics.fmean(x), statistics.fmean(y)
    xy = sum((p - mx) * (q - my) for p, q in zip(x, y))
    xx, yy = sum((p - mx)**2 for p in x), sum((q - my)**2 for q in y)
    return xy * xy / (xx * yy) if xx > 0 and yy > 0 else 0.0


def best(make, sizes_ms, samples, delays_ms):
    """(share, size, delay) of the best one, and for each size the best share."""
    found, shares = (0.0, 0, 0), {}
    for size in sizes_ms:
        load = make(size * 1000)
        share, delay = max((explained(load, samples, delay * 1000), delay) for delay in delays_ms)
        shares[size] = share
        found = max(found, (share, size, delay))
    return found, shares


def refine(make, first, samples, least):
    share, size, delay = first
    sizes = sorted({max(least, size + step) for step in range(-8, 9, 2)})
    return best(make, sizes, samples, range(delay - 6, delay + 7, 2))


def analyse(bursts, samples, parts):
    starts = [t for t, _ in samples]
    chosen = []
    print("period    samples  least  most   mean   standard deviation")
    for period_ms, begin, end in parts:
        part = samples[bisect.bisect_left(starts, begin):bisect.bisect_right(starts, end)]
        watts = [w for _, w in part]
        if len(watts) < 20:
            print(f"{period_ms:5d} ms  {len(watts)} samples: too few")
            continue
        chosen += part
        print(f"{period_ms:5d} ms  {len(watts):6d} {min(watts):7.1f} {max(watts):6.1f} {statistics.fmean(watts):6.1f} "
              f"{statistics.stdev(watts):6.1f} W")
    steps = [b - a for a, b in zip(starts, starts[1:]) if b - a < 1e5]
    print(f"samples {statistics.median(steps) / 1000:.1f} ms apart ({min(steps) / 1000:.1f} to {max(steps) / 1000:.1f})")
    load = Load(bursts, samples[0][0] - 1e6, samples[-1][0] + 1e6)
    thinned = chosen[::max(1, len(chosen) // 1200)]
    delays = range(-40, 121, 8)
    first, shares = best(load.box, (0, 5, 10, 20, 30, 40, 50, 60, 80, 100, 125, 150, 200), thinned, delays)
    box, near = refine(load.box, first, thinned, 0)
    instant, _ = best(load.box, (0,), thinned, range(-40, 121, 2))
    lag, _ = best(load.lag, (2, 5, 10, 15, 20, 30, 40, 60, 80, 100), thinned, delays)
    as_good = sorted(size for size, share in {**shares, **near}.items() if share > box[0] - 0.01)
    print(f"box: mean of {box[1]} ms that ends {box[2]} ms before the stamp explains {100 * box[0]:.1f} % "
          f"(within one per cent of it: {as_good[0]} to {as_good[-1]} ms); an instant {instant[2]} ms before it {100 * instant[0]:.1f} %")
    print(f"lag: time constant {lag[1]} ms, {lag[2]} ms before the stamp, explains {100 * lag[0]:.1f} %")
    if instant[0] > max(box[0], lag[0]) - 0.01:
        print("the samples are instants, as far as this can tell")
    elif lag[0] > box[0]:
        print(f"the samples follow with a time constant of about {lag[1]} ms: the board, the sensor or both")
    else:
        print(f"the samples are means of about {box[1]} ms")
    return box, lag


if __name__ == "__main__":
    box, lag = analyse(*collect(float(sys.argv[1]) if len(sys.argv) > 1 else 8))
    sys.exit(max(box[0], lag[0]) < 0.5) # else nothing is said of the samples
