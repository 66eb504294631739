"""Judges a capture of OPC UA traffic by tshark's dissector: python3 check.py CAPTURE PORT.

The capture must be of SecurityPolicy None. No packet may be malformed, and of each kind of message that the suites
cause at least as many as the table says must have been decoded. Prints PASS or FAIL lines and a closing line.
"""

import collections
import subprocess
import sys

# The dissector of some releases asks itself for 8 bytes of a 4 byte field when it shows EnumValueType.Value. What it
# says then does not depend on the bytes captured, so it is no finding about them.
DISSECTOR_SLIP = "Trying to fetch a single-precision floating point number with length 8"

# Transport message types, and services by the numeric id of their binary encoding (Part 6, A.2).
EXPECTED = {
    "HEL": 10,
    "ACK": 10,
    "OPN": 20,
    "MSG": 1000,
    "CLO": 5,
    "422 FindServersRequest": 1,
    "425 FindServersResponse": 1,
    "428 GetEndpointsRequest": 5,
    "431 GetEndpointsResponse": 5,
    "446 OpenSecureChannelRequest": 10,
    "449 OpenSecureChannelResponse": 10,
    "461 CreateSessionRequest": 5,
    "464 CreateSessionResponse": 5,
    "467 ActivateSessionRequest": 5,
    "470 ActivateSessionResponse": 5,
    "473 CloseSessionRequest": 3,
    "476 CloseSessionResponse": 3,
    "527 BrowseRequest": 30,
    "530 BrowseResponse": 30,
    "533 BrowseNextRequest": 10,
    "536 BrowseNextResponse": 10,
    "554 TranslateBrowsePathsToNodeIdsRequest": 1,
    "557 TranslateBrowsePathsToNodeIdsResponse": 1,
    "631 ReadRequest": 100,
    "634 ReadResponse": 100,
    "673 WriteRequest": 100,
    "676 WriteResponse": 100,
    "712 CallRequest": 3,
    "715 CallResponse": 3,
    "751 CreateMonitoredItemsRequest": 3,
    "754 CreateMonitoredItemsResponse": 3,
    "787 CreateSubscriptionRequest": 3,
    "790 CreateSubscriptionResponse": 3,
    "826 PublishRequest": 30,
    "829 PublishResponse": 30,
    "847 DeleteSubscriptionsRequest": 1,
    "850 DeleteSubscriptionsResponse": 1,
}


def dissect(capture: str, port: str, *args: str) -> list[str]:
    command = ["tshark", "-r", capture, "-d", f"tcp.port=={port},opcua", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"FAIL tshark cannot read the capture: {done.stderr}\n0 passed, 1 failed")
    return done.stdout.splitlines()


def main() -> int:
    capture, port = sys.argv[1:]
    results = {True: 0, False: 0}

    def verdict(good: bool, text: str) -> None:
        results[good] += 1
        print(f"{'PASS' if good else 'FAIL'} {text}", flush=True)

    fields = ["-T", "fields", "-E", "aggregator=|", "-e", "frame.number"]
    rows = dissect(capture, port, "-Y", "opcua", *fields, "-e", "opcua.transport.type", "-e", "opcua.servicenodeid.numeric")
    seen: collections.Counter[str] = collections.Counter()
    for row in rows:
        _, types, services = row.split("\t")
        seen.update(t for t in types.split("|") if t)
        seen.update(s for s in services.split("|") if s)
    for name, least in EXPECTED.items():
        found = seen[name.split()[0]]
        verdict(found >= least, f"decoded {name}: {found}, at least {least} expected")

    rows = dissect(capture, port, "-Y", "_ws.malformed", *fields, "-e", "_ws.expert.message")
    bad, slips = [], 0
    for row in rows:
        frame, messages = row.split("\t")
        reasons = [m for m in messages.split("|") if m and m != DISSECTOR_SLIP]
        # A frame whose only remarks are the slip has nothing malformed in it.
        if reasons or DISSECTOR_SLIP not in messages:
            bad.append(f"frame {frame}: {'; '.join(sorted(set(reasons)))}")
        else:
            slips += 1
    verdict(not bad, f"{len(bad)} malformed packets {'; '.join(bad[:20])}")
    if slips:
        print(f"note {slips} packets with the dissector's own slip on EnumValueType")
    print(f"{results[True]} passed, {results[False]} failed", flush=True)
    return 0 if results[False] == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
