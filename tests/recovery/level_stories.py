"""What befalls the jobs of level_kills.py: ranks killed alone, together and again while they recover, nodes and event loggers lost
meanwhile. Pure: a function of the seed. Whatever is drawn here can be survived (docs/events.md, Levels; docs/event-loggers.md): at
level `node` with one copy a node and another one are never lost so near each other that the second may hold what the first has just
lost."""

import collections

Way = collections.namedtuple("Way", "protocol level loggers copies")
Case = collections.namedtuple("Case", "number way program ranks nodes spares large eager fan_out story seed")

APART_S = 0.9  # what a loss takes to be noticed and mended, on a busy machine
SILENT_S = 1.5  # after that a node that stands still counts as lost
NODES, SPARES = 4, 2
POINTS = ("match.made", "match.logged", "send.logged", "send.published", "send.offered", "send.ahead", "acknowledge.published",
          "rendezvous.matched", "rendezvous.requested", "rendezvous.asked", "rendezvous.piece", "rendezvous.arriving",
          "rendezvous.received", "rendezvous.seen", "rendezvous.exposed")

WAYS = [Way(*words) for words in (
    ("pessimist", "process", 0, 1), ("optimist", "process", 0, 1),
    ("pessimist", "node", 0, 1), ("pessimist", "node", 1, 1), ("pessimist", "node", 3, 1), ("pessimist", "node", 3, 2),
    ("pessimist", "node", 0, 2), ("optimist", "node", 0, 1), ("optimist", "node", 2, 1), ("optimist", "node", 3, 2),
    ("optimist", "process+node", 0, 1), ("optimist", "process+node", 3, 1),
    ("pessimist", "disk", 0, 1), ("optimist", "disk", 0, 1),
    ("pessimist", "node+disk", 0, 1), ("pessimist", "node+disk", 2, 1), ("optimist", "node+disk", 0, 1), ("optimist", "node+disk", 3, 2))]


def soon(choose, most_s=0.3):
    """0.3 ms to `most_s`, short ones as often as long ones: within the recovery of what died just now, or about at its end."""
    return 0.0003 * (most_s / 0.0003) ** choose.random()


class Plan:
    """The injections of one case, and when nodes are lost in it."""

    def __init__(self, case, choose):
        self.case, self.choose = case, choose
        self.words, self.lost = [], {}  # lost: node -> from when to when that may be noticed

    def kill(self, rank, at):
        self.words.append(f"kill:rank={rank},at={1000 * at:.2f}ms")

    def rank(self):
        return self.choose.randrange(self.case.ranks)

    def ranks(self, least=2):
        return self.choose.sample(range(self.case.ranks), self.choose.randint(least, self.case.ranks))

    def loggers(self):
        first = self.case.nodes + self.case.spares
        return [n for n in range(first, first + self.case.way.loggers) if n not in self.lost]

    def hosts(self):
        return [n for n in range(self.case.nodes + self.case.spares) if n not in self.lost]

    def may_lose(self, at, logger):
        """Whether one more may be lost at that time."""
        way = self.case.way
        if "disk" in way.level:
            return logger or len(self.hosts()) > 2
        near = sum(1 for first, last in self.lost.values() if first - APART_S - SILENT_S < at < last + APART_S)
        return way.level != "process" and near < way.copies and (logger or len(self.hosts()) > 3)

    def lose(self, node, at):
        """False: that could not be survived."""
        if node in self.lost or not self.may_lose(at, node >= self.case.nodes + self.case.spares):
            return False
        if self.case.way.protocol == "optimist" and self.choose.random() < 0.6:
            # What the node determines last is lost with it.
            alone = self.choose.uniform(0.001, 0.06)
            self.words.append(f"unshared:node={node},at={1000 * max(0.0, at - alone):.2f}ms,for=5s")
        if self.choose.random() < 0.1:
            # It comes back when it counts as lost.
            self.words.append(f"pause:node={node},at={1000 * at:.2f}ms,for={self.choose.uniform(1.3, 2.5):.2f}s")
            self.lost[node] = (at, at + SILENT_S)
        else:
            self.words.append(f"node:{node},at={1000 * at:.2f}ms")
            self.lost[node] = (at, at)
        return True


def one_rank(plan, at):
    plan.kill(plan.rank(), at)


def several_ranks(plan, at):
    for rank in plan.ranks():
        plan.kill(rank, at + plan.choose.choice((0.0, 0.0001, 0.001)))


def again(plan, at):
    """A rank that is killed while it recovers."""
    rank = plan.rank()
    for _ in range(plan.choose.randint(2, 5)):
        plan.kill(rank, at)
        at += soon(plan.choose)


def feeders(plan, at):
    """A rank recovers, and others whose logs it reads are killed, some of them more than once."""
    for _ in range(plan.choose.randint(2, 6)):
        plan.kill(plan.rank(), at)
        at += soon(plan.choose, 0.05)


def at_points(plan, at):
    """Ranks that kill themselves at a named point of the engine, one of them perhaps when others recover."""
    for rank in plan.ranks(1):
        if any(words.startswith(f"kill:rank={rank},point=") for words in plan.words):
            continue
        plan.words.append(f"kill:rank={rank},point={plan.choose.choice(POINTS)}:{1 << plan.choose.randrange(9)}")
    one_rank(plan, at)


def a_node(plan, at):
    if not plan.lose(plan.choose.choice(plan.hosts()), at):
        feeders(plan, at)


def a_node_and_ranks(plan, at):
    """The ranks of a lost node recover elsewhere, and they or others are killed."""
    a_node(plan, at)
    for rank in plan.ranks(1):
        plan.kill(rank, at + soon(plan.choose))


def a_holder(plan, at):
    """Ranks recover, and who holds their determinants is lost; or before that."""
    for rank in plan.ranks(1):
        plan.kill(rank, at)
    at += soon(plan.choose) if plan.choose.random() < 0.7 else -soon(plan.choose, min(at, 0.3))
    for logger in plan.choose.sample(plan.loggers(), plan.choose.randint(1, len(plan.loggers()))) if plan.loggers() else []:
        plan.lose(logger, at)
    if not plan.loggers() or plan.choose.random() < 0.3:
        plan.lose(plan.choose.choice(plan.hosts()), at)


def nodes_in_recovery(plan, at):
    """A node, and while its ranks recover another, a spare, or an event logger, as far as the level allows."""
    a_node(plan, at)
    for _ in range(plan.choose.randint(1, 3)):
        at += soon(plan.choose)
        if not plan.lose(plan.choose.choice(plan.hosts() + plan.loggers()), at):
            plan.kill(plan.rank(), at)


STORIES = (one_rank, several_ranks, again, feeders, at_points, a_node, a_node_and_ranks, a_holder, nodes_in_recovery)


def draw(number, choose, programs):
    """Case `number`: all ways in turn, for each of them all stories in turn; the rest by chance."""
    way = WAYS[number % len(WAYS)]
    nodes = choose.choice((1, 3)) if way.level == "process" else NODES
    spares = 0 if way.level == "process" else SPARES
    return Case(number, way, choose.choice(programs), choose.choice((4, 6)), nodes, spares, choose.choice(("direct", "copied")),
                choose.choice(("16K", "1M")), choose.choice((2, 32)),
                STORIES[(number + number // len(WAYS)) % len(STORIES)].__name__, choose.randrange(1 << 31))


def injections(case, span_s, choose):
    """The story of the case at some time within `span_s`, and others, by chance, at other times."""
    plan = Plan(case, choose)
    globals()[case.story](plan, choose.uniform(0.0, 0.8 * span_s))
    for _ in range(choose.choice((0, 1, 2, 3))):
        choose.choice(STORIES)(plan, choose.uniform(0.0, 0.9 * span_s))
    return plan.words
