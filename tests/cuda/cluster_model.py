# SPDX-License-Identifier: MIT
"""Model checker of the agent protocol in cta_cluster.cuh: explores every interleaving of its atomic operations. Mergelane executes agents one
after another, so no program can test concurrent agents. Keep the model in step with that code; each atomic operation is one step."""
import itertools

COUNTER, SLOT = "counter", "slot"


class Launch:
    """`places`: SM and warp slot of every CTA. `sizes`: tasks of every cluster, so that a cluster has min(active, size) stripes."""

    def __init__(self, places, sizes, active, method):
        self.places, self.method = places, method
        self.stripes = [min(active, size) for size in sizes]

    # Shared: (stripes taken, CTAs arrived, CTAs that left, a word for each cluster, how often each stripe was done).
    def start(self):
        words = (0, 0, 0, (0,) * len(self.stripes))
        done = tuple((0,) * count for count in self.stripes)
        return words, done, tuple(("own", None) for _ in self.places)

    def take(self, words, cluster, wanted):
        """One atomic operation: the stripe it took, or None. `wanted` is what a slot asks for; a counter gets the next."""
        taken = list(words)
        if self.method == COUNTER:
            wanted, taken[cluster] = taken[cluster], taken[cluster] + 1
            return tuple(taken), wanted if wanted < self.stripes[cluster] else None
        free = wanted < self.stripes[cluster] and not taken[cluster] >> wanted & 1
        if wanted < self.stripes[cluster]:
            taken[cluster] |= 1 << wanted
        return tuple(taken), wanted if free else None

    def step(self, cta, at, words, done):
        """What the next operation of a CTA does: the new (words, done, at). `at` is (name of the operation, what it knows)."""
        (claimed, arrived, left, taken), (name, knows) = words, at
        sm, slot = self.places[cta]
        clusters = len(self.stripes)
        if name == "own":
            got = None
            if sm < clusters:
                taken, got = self.take(taken, sm, slot)
            return (claimed, arrived, left, taken), done, ("arrive", None if got is None else (sm, got))
        if name == "arrive":
            return (claimed + (knows is not None), arrived + 1, left, taken), self.do(done, knows), ("look", 0)
        if name == "look":
            all_here = arrived == len(self.places) and claimed < sum(self.stripes)
            return words, done, ("any", (knows, 0)) if all_here else ("leave", None)
        if name == "any":
            looked_at, wanted = knows
            if looked_at == clusters:
                return words, done, ("leave", None)
            cluster = (sm + looked_at) % clusters
            taken, got = self.take(taken, cluster, wanted)
            if got is not None:
                return (claimed, arrived, left, taken), done, ("took", (looked_at, cluster, got))
            more = self.method == SLOT and wanted + 1 < self.stripes[cluster]
            return (claimed, arrived, left, taken), done, ("any", (looked_at, wanted + 1) if more else (looked_at + 1, 0))
        if name == "took":
            looked_at, cluster, got = knows
            return (claimed + 1, arrived, left, taken), self.do(done, (cluster, got)), ("look", looked_at)
        if name == "leave":
            last = left + 1 == len(self.places)
            return (claimed, arrived, left + 1, taken), done, ("clear", None) if last else None
        # Who clears is alone, which check() looks at, so it may do so at once.
        return self.start()[0], done, None

    @staticmethod
    def do(done, stripe):
        if stripe is None:
            return done
        cluster, number = stripe
        row = list(done[cluster])
        row[number] += 1
        return done[:cluster] + (tuple(row),) + done[cluster + 1:]

    def check(self):
        """Visits every state that any order of operations leads to; returns their number."""
        seen, open_states = set(), [self.start()]
        while open_states:
            state = open_states.pop()
            if state in seen:
                continue
            seen.add(state)
            words, done, at = state
            assert all(times <= 1 for row in done for times in row), f"{self.places}: a stripe was done twice: {done}"
            if all(each is None for each in at):
                assert all(times == 1 for row in done for times in row), f"{self.places}: a stripe was lost: {done}"
                assert words == self.start()[0], f"{self.places}: the next launch finds {words}"
            clearing = [each for each in at if each is not None and each[0] == "clear"]
            assert not clearing or sum(each is not None for each in at) == 1, "somebody is there while the state is cleared"
            for cta, each in enumerate(at):
                if each is None:
                    continue
                new_words, new_done, new_at = self.step(cta, each, words, done)
                open_states.append((new_words, new_done, at[:cta] + (new_at,) + at[cta + 1:]))
        return len(seen)


def check_all():
    """Up to three CTAs anywhere (SM 2 has no cluster, slot 2 is never active), clusters of 3 and 1 tasks, two agents active and one."""
    anywhere = list(itertools.product(range(3), range(3)))
    states = 0
    for method, active, ctas in itertools.product((COUNTER, SLOT), (1, 2), (1, 2, 3)):
        # A counter does not look at slots. CTAs are alike, so their order does not matter.
        spots = anywhere if method == SLOT else [(sm, 0) for sm in range(3)]
        for places in itertools.combinations_with_replacement(spots, ctas):
            states += Launch(places, (3, 1), active, method).check()
    return states


if __name__ == "__main__":
    print(f"{check_all()} states, in each of which all is right")
