"""The tables, for the terminal and for docs/message-logging, beside what the paper says."""

import evaluate
import machine
import publish as publishing
import table
from measured import KERNELS, LOGGER_PLACES, PLACES, TRIPS_KILLED, WITH_EVENTS, ranks_of
from table import number
from variants import COVERED, DELAY, KILLED, KILLED_AFTER_S, LOGGERS, NO_LOG, NONE, OPTIMIST, PESSIMIST

HEAD = """# Message logging, measured

Paper 000 (Bouteiller, Ropars, Bosilca, Morin, Dongarra: Reasons for a Pessimistic or Optimistic Message Logging Protocol in MPI
Uncoordinated Failure Recovery), section V, with Holdfast's protocols. Written by `make bench-message-logging`; what and how is measured:
[bench/message_logging/README.md](../../bench/message_logging/README.md).
"""

PLACE_NAMES = {"shm": "one node, shared memory", "nodes2": "two nodes, loopback TCP", "nodes4": "four nodes, loopback TCP",
               DELAY: "four hosts, slow network"}
PAPER = {
    "pingpong": "The paper (figures 3 and 4; Gigabit Ethernet and Myrinet 10G): named sources: no difference in latency; any source: "
                "pessimist takes three times as long, optimist much less; without the sender log the bandwidth on Myrinet is that of no "
                "fault tolerance.",
    "events": "The paper (V.B): among the six kernels only MG and LU have non-deterministic events.",
    "kernels": "The paper (figure 6, 64 processes, Myrinet 10G): the protocols differ from each other by less than 2%; the sender log "
               "dominates.",
    "scaling": "The paper (figure 5, Gigabit Ethernet, up to 256 processes): overhead below 10%; LU alone scales otherwise, optimist 6% "
               "ahead of pessimist with 256.",
    "cost_pingpong": "The paper (Table I): sending an event 6.3 us (pessimist), 6.7 us (optimist); acknowledgement 97.1 us, 1.1 us.",
    "recovery": "The paper measures no recovery.",
    "loggers": "The paper (V.A) has one event logger, on a node of its own. Here, `optimist`: what messages say of events that were not "
               "known to be stable when they left. Without event loggers (-) the nodes hold each other's.",
    "cost_lu": "The paper (Table II, LU.C.64): sending events 17 ms (pessimist), 12 ms (optimist); acknowledgements 150 ms, 42 ms.",
}


def quotient(ratio):
    return "-" if ratio is None else f"{ratio:.2f}"


def loggers(entry):
    return [p for p in entry["protocols"] if p != NONE]


def markdown(rows):
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (rows[0], rule, *rows[1:]))


def ping_pong_rows(entry, place):
    """Figures 3 (a), 3 (b) and 4: half a round trip, in us, and ratios to `none` with the same kind of receive."""
    rounds, who = entry["rounds"], [p + kind for p in loggers(entry) for kind in ("", NO_LOG)]
    rows = [["bytes", *(f"{s}: {v}" for s in ("named", "any") for v in (NONE, *who))]]
    sizes = evaluate.labels(rounds, f"pingpong.named.{place}") or evaluate.labels(rounds, f"pingpong.any.{place}")
    for size in sizes:
        cells = [size]
        for source in ("named", "any"):
            name = f"pingpong.{source}.{place}"
            cells.append(number(evaluate.value(rounds, name, size, NONE)))
            cells += [f"{number(evaluate.value(rounds, name, size, v))} ({quotient(evaluate.to_none(rounds, name, size, v))})"
                      for v in who]
        rows.append(cells)
    return rows


def event_rows(entry):
    """Events and logged bytes of one run of each kernel."""
    rounds, protocol = entry["rounds"], loggers(entry)[0]
    rows = [["kernel", "ranks", "events", "events a rank and second", "messages logged", "MB logged", "MB/s a rank", "MB left by checkpoints"]]
    for kernel in KERNELS:
        for ranks in ranks_of(kernel, "shm"):
            name = f"{kernel}.n{ranks}.shm"
            events, messages, logged = (evaluate.total(rounds, name, protocol, field)
                                        for field in ("determinants", "messages_logged", "bytes_logged"))
            left = evaluate.total(rounds, name, PESSIMIST + COVERED, "log_left")
            seconds = evaluate.value(rounds, name, "seconds", protocol)
            if events is None or not seconds:
                continue
            rows.append([kernel.upper(), str(ranks), f"{events:.0f}", number(events / ranks / seconds), f"{messages:.0f}",
                         f"{logged / 1e6:.1f}", number(logged / 1e6 / ranks / seconds), "" if left is None else f"{left / 1e6:.2f}"])
    return rows


def kernel_rows(entry):
    """Figure 6: time with four ranks, and ratios to `none`."""
    rounds, who = entry["rounds"], [p + kind for p in loggers(entry) for kind in ("", NO_LOG)]
    rows = [["kernel", "where", "none, s", *who]]
    for kernel in KERNELS:
        for place in PLACES:
            name = f"{kernel}.n4.{place}"
            seconds = evaluate.value(rounds, name, "seconds", NONE)
            if seconds is not None:
                rows.append([kernel.upper(), PLACE_NAMES[place], number(seconds),
                             *(quotient(evaluate.to_none(rounds, name, "seconds", v)) for v in who)])
    return rows


def scaling_rows(entry):
    """Figure 5: time over the number of ranks, on one node."""
    rounds = entry["rounds"]
    rows = [["kernel", "ranks", "none, s", *loggers(entry)]]
    for kernel in KERNELS:
        for ranks in ranks_of(kernel, "shm"):
            name = f"{kernel}.n{ranks}.shm"
            seconds = evaluate.value(rounds, name, "seconds", NONE)
            if seconds is not None:
                rows.append([kernel.upper(), str(ranks), number(seconds),
                             *(quotient(evaluate.to_none(rounds, name, "seconds", p)) for p in loggers(entry))])
    return rows


def cost_rows(entry, what, label, unit, scale):
    """Tables I and II."""
    rows = [[f"protocol ({unit})", "sending", "acknowledgement"]]
    for protocol in loggers(entry):
        sending, answer = evaluate.costs(entry["rounds"], what, label, protocol)
        if sending is not None:
            rows.append([protocol, f"{scale * sending:.2f}", f"{scale * answer:.2f}"])
    return rows


def logger_rows(entry):
    rounds = entry["rounds"]
    rows = [["kernel", "where", "event loggers", "messages", "events", "frames of dependencies", "bytes of these a message", "s"]]
    for kernel in WITH_EVENTS:
        for place in LOGGER_PLACES:
            name = f"loggers.{kernel}.n4.{place}"
            for kind, loggers in (("", "-"), *((kind, str(n)) for kind, n in LOGGERS.items())):
                sent = evaluate.messages(rounds, name, OPTIMIST + kind)
                events, frames = (evaluate.total(rounds, name, OPTIMIST + kind, field) for field in ("determinants", "dependency_frames"))
                if not sent:
                    continue
                rows.append([kernel.upper(), PLACE_NAMES[place], loggers, f"{sent:.0f}", f"{events:.0f}", f"{frames:.0f}",
                             number(evaluate.piggybacked(rounds, name, OPTIMIST + kind)),
                             number(evaluate.value(rounds, name, "seconds", OPTIMIST + kind))])
    return rows


def recovery_rows(entry):
    """From SIGKILL to caught up, over the time that the first execution had taken."""
    rows = [["where", "receives", *loggers(entry)]]
    for place in TRIPS_KILLED:
        for source in ("named", "any"):
            values = [evaluate.caught_up(entry["rounds"], f"recovery.{source}.{place}", p + KILLED) for p in loggers(entry)]
            if any(v is not None for v in values):
                rows.append([PLACE_NAMES[place], source, *("-" if v is None else f"{v / KILLED_AFTER_S:.2f}" for v in values)])
    return rows


def notes(entry):
    about = entry["machine"]
    least, most = evaluate.counts(entry["rounds"])
    yield (f"{machine.title(about)}, kernel {about['kernel']}; {entry['date']}; commit {entry['commit']}; "
           f"{least if least == most else f'{least} to {most}'} round(s) of each series{', quick' if entry['quick'] else ''}.")
    if least < 5:
        yield "A short run: the paper's values are means of five, and these figures are to be taken again."
    yield table.distances(entry["rounds"]) + (" Rounds in which it flipped were kept." if entry["any_distance"] else "")
    yield from table.disturbance(entry["rounds"])
    if entry["absent"]:
        yield f"Without the slow network: {entry['absent']}."
    yield from (f"FAILED: {problem}" for problem in evaluate.problems(entry["rounds"]))


def sections(entry):
    """(Title, what the paper says, rows), those without values left out."""
    for place in PLACES:
        name = PLACE_NAMES[place] + (f", {entry['delay_us']} us one way" if place == DELAY else "")
        yield f"Ping-pong, {name} (figures 3a, 3b, 4): us, and the ratio to none", PAPER["pingpong"], ping_pong_rows(entry, place)
    yield "Non-deterministic events by kernel", PAPER["events"], event_rows(entry)
    yield "Kernels with four ranks (figure 6): ratios to none", PAPER["kernels"], kernel_rows(entry)
    yield "Number of ranks, one node (figure 5): ratios to none", PAPER["scaling"], scaling_rows(entry)
    yield "Cost of one event (Table I)", PAPER["cost_pingpong"], cost_rows(entry, "pingpong", "1", "us", 1)
    yield "Cost of all events in LU with four ranks (Table II)", PAPER["cost_lu"], cost_rows(entry, "lu", "seconds", "ms", 1000)
    yield "Recovery: from SIGKILL after a second of round trips to caught up, over that second", PAPER["recovery"], recovery_rows(entry)
    yield "Event loggers: what goes with messages under optimist", PAPER["loggers"], logger_rows(entry)


def tables(entry, heading=""):
    out = [f"- {note}" for note in notes(entry)]
    for title, paper, rows in sections(entry):
        if len(rows) > 1:
            out += ["", f"{heading}{title}", "", paper, "", markdown(rows)]
    return "\n".join(out)


def publish(work, key, entry):
    return publishing.publish(work, key, entry, "message-logging", HEAD, lambda one: tables(one, "### "))
