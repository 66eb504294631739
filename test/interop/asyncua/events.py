"""Checks of events: what clients hear at the Server object and at the plant, and how filters are judged."""

import asyncio

from asyncua import Client, ua

from report import Report, expect
from space import demo

EVENT_TYPE = demo("MachineStateEventType")
BASE = ua.NodeId(ua.ObjectIds.BaseEventType)
FIELDS = (("EventId", 0), ("SourceName", 0), ("Message", 0), ("Severity", 0), ("EventType", 0), ("From", 2), ("To", 2))


class Listener:
    def __init__(self) -> None:
        self.heard: asyncio.Queue = asyncio.Queue()

    def event_notification(self, event) -> None:
        self.heard.put_nowait(event)


def field(name: str, namespace: int = 0, event_type: ua.NodeId = BASE) -> ua.SimpleAttributeOperand:
    return ua.SimpleAttributeOperand(
        TypeDefinitionId=event_type, BrowsePath=[ua.QualifiedName(name, namespace)], AttributeId=ua.AttributeIds.Value
    )


def literal(value, kind: ua.VariantType) -> ua.LiteralOperand:
    return ua.LiteralOperand(Value=ua.Variant(value, kind))


def element(operator: ua.FilterOperator, *operands) -> ua.ContentFilterElement:
    return ua.ContentFilterElement(FilterOperator=operator, FilterOperands=list(operands))


def where(*elements: ua.ContentFilterElement) -> ua.EventFilter:
    """A filter that selects all fields."""
    clauses = [field(name, namespace, EVENT_TYPE if namespace else BASE) for name, namespace in FIELDS]
    return ua.EventFilter(SelectClauses=clauses, WhereClause=ua.ContentFilter(Elements=list(elements)))


def urgent_of_one_machine() -> ua.EventFilter:
    operator = ua.FilterOperator
    return where(
        element(operator.And, ua.ElementOperand(Index=1), ua.ElementOperand(Index=2)),
        element(operator.OfType, literal(EVENT_TYPE, ua.VariantType.NodeId)),
        element(operator.And, ua.ElementOperand(Index=3), ua.ElementOperand(Index=4)),
        element(operator.GreaterThanOrEqual, field("Severity"), literal(400, ua.VariantType.Int32)),
        element(operator.Like, field("SourceName"), literal("Conv%[0-9]", ua.VariantType.String)),
    )


async def command(client: Client, machine: str, name: str) -> None:
    """Calls a method of a machine until its state allows it."""
    node = client.get_node(demo(f"Plant.{machine}"))
    async with asyncio.timeout(20):
        while True:
            try:
                await node.call_method(demo(f"Plant.{machine}.{name}"))
                return
            except ua.UaStatusCodeError as exc:
                expect(exc.code == ua.StatusCodes.BadInvalidState, str(exc))
                await asyncio.sleep(0.2)


async def monitor(client: Client, subscription, node: ua.NodeId, event_filter) -> ua.MonitoredItemCreateResult:
    """Creates a monitored item for events, and returns what the server says of it."""
    parameters = ua.MonitoringParameters(ClientHandle=7777, QueueSize=0, DiscardOldest=True, Filter=event_filter)
    request = ua.CreateMonitoredItemsParameters(
        SubscriptionId=subscription.subscription_id,
        TimestampsToReturn=ua.TimestampsToReturn.Both,
        ItemsToCreate=[
            ua.MonitoredItemCreateRequest(
                ItemToMonitor=ua.ReadValueId(NodeId=node, AttributeId=ua.AttributeIds.EventNotifier),
                MonitoringMode=ua.MonitoringMode.Reporting,
                RequestedParameters=parameters,
            )
        ],
    )
    return (await client.uaclient.create_monitored_items(request))[0]


async def run(client: Client, report: Report) -> None:
    for place, node in (("the Server object", ua.NodeId(ua.ObjectIds.Server)), ("the plant", demo("Plant"))):
        async with report.check(f"hears events at {place} through a where clause") as notes:
            listener = Listener()
            subscription = await client.create_subscription(100, listener)
            await subscription.subscribe_events(client.get_node(node), evfilter=urgent_of_one_machine())
            await command(client, "Robot1", "Stop")
            await command(client, "Conveyor1", "Stop")
            await command(client, "Conveyor1", "Start")
            await command(client, "Robot1", "Start")
            for before, after in ((2, 3), (0, 1)):
                event = await asyncio.wait_for(listener.heard.get(), 10)
                expect(event.SourceName == "Conveyor1", f"of {event.SourceName}")
                expect((event.From, event.To) == (before, after), f"from {event.From} to {event.To}")
                expect(event.Severity == 400 and len(event.EventId) == 16, f"{event}")
                expect(event.EventType == EVENT_TYPE, f"{event.EventType}")
                notes.append(event.Message.Text)
            await asyncio.sleep(0.3)
            expect(listener.heard.empty(), "more events than pass the filter")
            await subscription.delete()

    async with report.check("gets a status for each part of a wrong filter"):
        subscription = await client.create_subscription(100, Listener())
        server = ua.NodeId(ua.ObjectIds.Server)
        wrong = where(element(ua.FilterOperator.Equals, ua.ElementOperand(Index=0), literal(1, ua.VariantType.Int32)))
        result = await monitor(client, subscription, server, wrong)
        expect(result.StatusCode.value == ua.StatusCodes.BadEventFilterInvalid, str(result.StatusCode))
        elements = result.FilterResult.WhereClauseResult.ElementResults
        expect(elements[0].StatusCode.value == ua.StatusCodes.BadFilterOperandInvalid, str(elements))
        expect(elements[0].OperandStatusCodes[0].value == ua.StatusCodes.BadFilterElementInvalid, str(elements))
        half = where()
        half.SelectClauses[1] = field("NoSuchField")
        result = await monitor(client, subscription, server, half)
        expect(result.StatusCode.is_good() and result.RevisedQueueSize > 1, str(result))
        expect(result.FilterResult.SelectClauseResults[1].value == ua.StatusCodes.BadNodeIdUnknown, str(result.FilterResult))
        await subscription.delete()
