"""Checks of the address space and its values: View, Attribute and Method services."""

from asyncua import Client, ua

import values
from report import Report, expect

OBJECTS = ua.NodeId(ua.ObjectIds.ObjectsFolder)
ROOT = ua.NodeId(ua.ObjectIds.RootFolder)
NAMESPACE = "urn:uahive:demo"
MACHINES = ("Press1", "Press2", "Oven1", "Conveyor1")
MEMBERS = ("Temperature", "Pressure", "Speed", "PartCounter", "State", "SetPoint", "Start", "Stop", "Reset", "Add")


def demo(path: str) -> ua.NodeId:
    return ua.NodeId(path, 2)


def wanted_nodes() -> set[ua.NodeId]:
    paths = ["Plant", "Types", "Types.Scalar", "Types.Array", "Types.Matrix", "Types.Matrix.Double", "Types.Matrix.Int32"]
    paths += [f"Plant.{m}" for m in MACHINES]
    paths += [f"Plant.Press1.{x}" for x in MEMBERS]
    paths += [f"Types.{group}.{name}" for group in ("Scalar", "Array") for name in values.NAMES]
    return {demo(p) for p in paths}


class Tree:
    """What a walk along the hierarchical references found."""

    def __init__(self) -> None:
        self.classes: dict[ua.NodeId, ua.NodeClass] = {}
        self.names: dict[ua.NodeId, ua.QualifiedName] = {}
        self.parents: dict[ua.NodeId, ua.NodeId] = {}
        self.supertypes: dict[ua.NodeId, ua.NodeId] = {}

    def builtin(self, data_type: ua.NodeId) -> ua.NodeId:
        """Climbs from a data type to the built-in or abstract one (numeric id below 30) it is made of."""
        while data_type.NamespaceIndex != 0 or int(data_type.Identifier) >= 30:
            expect(data_type in self.supertypes, f"data type {data_type} has no supertype")
            data_type = self.supertypes[data_type]
        return data_type


def _description(node: ua.NodeId) -> ua.BrowseDescription:
    return ua.BrowseDescription(
        NodeId=node,
        BrowseDirection=ua.BrowseDirection.Forward,
        ReferenceTypeId=ua.NodeId(ua.ObjectIds.HierarchicalReferences),
        IncludeSubtypes=True,
        NodeClassMask=0,
        ResultMask=ua.BrowseResultMask.All,
    )


async def browse(client: Client, nodes: list[ua.NodeId], page: int = 0) -> list[list[ua.ReferenceDescription]]:
    """Browses nodes forward and follows continuation points to their end."""
    params = ua.BrowseParameters()
    params.RequestedMaxReferencesPerNode = page
    params.NodesToBrowse = [_description(n) for n in nodes]
    results = await client.uaclient.browse(params)
    found = []
    for node, result in zip(nodes, results, strict=True):
        expect(result.StatusCode.is_good(), f"Browse of {node}: {result.StatusCode}")
        references = list(result.References or [])
        while result.ContinuationPoint:
            following = ua.BrowseNextParameters()
            following.ReleaseContinuationPoints = False
            following.ContinuationPoints = [result.ContinuationPoint]
            result = (await client.uaclient.browse_next(following))[0]
            expect(result.StatusCode.is_good(), f"BrowseNext of {node}: {result.StatusCode}")
            references += result.References or []
        found.append(references)
    return found


async def walk(client: Client, start: ua.NodeId) -> Tree:
    tree = Tree()
    seen = {start}
    level = [start]
    while level:
        following = []
        for at in range(0, len(level), 200):
            batch = level[at : at + 200]
            for parent, references in zip(batch, await browse(client, batch), strict=True):
                for ref in references:
                    node = ua.NodeId(ref.NodeId.Identifier, ref.NodeId.NamespaceIndex, ref.NodeId.NodeIdType)
                    if ref.ReferenceTypeId.Identifier == ua.ObjectIds.HasSubtype:
                        tree.supertypes[node] = parent
                    if node in seen:
                        continue
                    seen.add(node)
                    tree.classes[node] = ref.NodeClass
                    tree.names[node] = ref.BrowseName
                    tree.parents[node] = parent
                    following.append(node)
        level = following
    return tree


async def read(client: Client, nodes: list[ua.NodeId], attribute: ua.AttributeIds, range_: str | None = None):
    results = []
    for at in range(0, len(nodes), 500):
        params = ua.ReadParameters()
        for node in nodes[at : at + 500]:
            item = ua.ReadValueId()
            item.NodeId, item.AttributeId, item.IndexRange = node, attribute, range_
            params.NodesToRead.append(item)
        results += await client.uaclient.read(params)
    expect(len(results) == len(nodes), f"{len(results)} results for {len(nodes)} nodes")
    return results


async def write(client: Client, node: ua.NodeId, value: ua.Variant, range_: str | None = None) -> ua.StatusCode:
    item = ua.WriteValue()
    item.NodeId, item.AttributeId, item.IndexRange = node, ua.AttributeIds.Value, range_
    item.Value = ua.DataValue(value)
    params = ua.WriteParameters()
    params.NodesToWrite = [item]
    return (await client.uaclient.write(params))[0]


async def value_of(client: Client, node: ua.NodeId, range_: str | None = None) -> ua.Variant:
    result = (await read(client, [node], ua.AttributeIds.Value, range_))[0]
    expect(result.StatusCode.is_good(), f"Read of {node}: {result.StatusCode}")
    return result.Value


def mismatch(tree: Tree, data_type: ua.NodeId, rank: int, value: ua.Variant) -> str | None:
    """Says how a value differs from the DataType and ValueRank that describe it; None where it does not."""
    kind = value.VariantType.value
    base = int(tree.builtin(data_type).Identifier)
    allowed = {
        ua.ObjectIds.BaseDataType: set(range(1, 26)),
        ua.ObjectIds.Number: set(range(2, 12)),
        ua.ObjectIds.Integer: {2, 4, 6, 8},
        ua.ObjectIds.UInteger: {3, 5, 7, 9},
        ua.ObjectIds.Enumeration: {6},
        ua.ObjectIds.Structure: {22},
    }.get(base, {base})
    if kind not in allowed:
        return f"value is {value.VariantType.name}, DataType {data_type} stands for built-in type {base}"
    dimensions = len(value.Dimensions) if value.Dimensions else (1 if value.is_array else 0)
    ranks = {-3: (0, 1), -2: range(100), -1: (0,), 0: range(1, 100)}.get(rank, (rank,))
    if dimensions not in ranks:
        return f"value has {dimensions} dimensions, ValueRank is {rank}"
    return None


async def read_all(client: Client, tree: Tree, nodes: list[ua.NodeId]):
    """Yields each variable with its value and what speaks against it."""
    data_values = await read(client, nodes, ua.AttributeIds.Value)
    data_types = await read(client, nodes, ua.AttributeIds.DataType)
    ranks = await read(client, nodes, ua.AttributeIds.ValueRank)
    for node, value, data_type, rank in zip(nodes, data_values, data_types, ranks, strict=True):
        problem = None
        if not value.StatusCode.is_good():
            problem = f"status {value.StatusCode.name}"
        elif value.Value is None or value.Value.VariantType == ua.VariantType.Null:
            problem = "null value"
        else:
            problem = mismatch(tree, data_type.Value.Value, rank.Value.Value, value.Value)
        yield node, value, problem


async def run(client: Client, report: Report) -> None:
    tree = Tree()
    async with report.check("the demo's namespace has index 2"):
        names = await client.get_namespace_array()
        expect(names[2:3] == [NAMESPACE], f"NamespaceArray {names}")
    async with report.check("browses all of the demo from Objects") as notes:
        found = await walk(client, OBJECTS)
        missing = wanted_nodes() - found.classes.keys()
        expect(not missing, f"missing {sorted(m.to_string() for m in missing)}")
        notes.append(f"{sum(n.NamespaceIndex == 2 for n in found.classes)} nodes of the demo")
    async with report.check("browses everything from Root", 120) as notes:
        tree = await walk(client, ROOT)
        expect(len(tree.classes) >= 2000, f"only {len(tree.classes)} nodes")
        notes.append(f"{len(tree.classes)} nodes")
    async with report.check("paged Browse finds what one page finds"):
        for node in (OBJECTS, ua.NodeId(ua.ObjectIds.BaseDataType), ua.NodeId(ua.ObjectIds.Server), demo("Types.Scalar")):
            whole = (await browse(client, [node]))[0]
            paged = (await browse(client, [node], page=3))[0]
            expect([r.NodeId for r in whole] == [r.NodeId for r in paged], f"{node} differs")

    variables = [n for n, c in tree.classes.items() if c == ua.NodeClass.Variable]
    async with report.check("every variable of the demo reads good and as its DataType says", 60) as notes:
        mine = [n for n in variables if n.NamespaceIndex == 2]
        problems = [f"{n.to_string()}: {p}" async for n, _, p in read_all(client, tree, mine) if p]
        expect(not problems, "; ".join(problems))
        expect(len(mine) >= 2 * len(values.NAMES) + 6, f"only {len(mine)} variables")
        notes.append(f"{len(mine)} variables")
    async with report.check("every variable of namespaces 0 and 1 reads, and good values are as their DataType says", 60) as notes:
        others = [n for n in variables if n.NamespaceIndex != 2]
        wrong, without = [], 0
        async for node, _, problem in read_all(client, tree, others):
            if problem and not problem.startswith(("status", "null")):
                wrong.append(f"{node.to_string()}: {problem}")
            without += bool(problem)
        expect(not wrong, "; ".join(wrong))
        notes.append(f"{len(others)} variables, {without} without a good value")
    async with report.check("TranslateBrowsePathsToNodeIds finds Press1's PartCounter"):
        path = [tree.names[demo(p)].to_string() for p in ("Plant", "Plant.Press1", "Plant.Press1.PartCounter")]
        results = await client.translate_browsepaths(OBJECTS, ["/" + "/".join(path)])
        results[0].StatusCode.check()
        expect(results[0].Targets[0].TargetId.Identifier == "Plant.Press1.PartCounter", f"{results[0].Targets}")
    async with report.check("an unknown node is BadNodeIdUnknown"):
        result = (await read(client, [demo("No.Such.Node")], ua.AttributeIds.Value))[0]
        expect(result.StatusCode.value == ua.StatusCodes.BadNodeIdUnknown, result.StatusCode.name)

    for group in ("Scalar", "Array"):
        for name in values.NAMES:
            async with report.check(f"writes and reads back Types.{group}.{name}"):
                node = demo(f"Types.{group}.{name}")
                for value in values.variant_cases(name, group == "Array"):
                    await roundtrip(client, node, value)
    async with report.check("writes and reads back matrices"):
        await roundtrip(client, demo("Types.Matrix.Double"), ua.Variant([[1.5, 2.5, 3.5], [-1.0, 0.0, 1e300]], ua.VariantType.Double))
        await roundtrip(client, demo("Types.Matrix.Int32"), ua.Variant([[6, 5, 4], [3, 2, 1]], ua.VariantType.Int32))
    await ranges(client, report)
    async with report.check("a value of another type is BadTypeMismatch"):
        status = await write(client, demo("Types.Scalar.Int32"), ua.Variant("text", ua.VariantType.String))
        expect(status.value == ua.StatusCodes.BadTypeMismatch, status.name)
    await methods(client, report)


async def roundtrip(client: Client, node: ua.NodeId, value: ua.Variant) -> None:
    status = await write(client, node, value)
    expect(status.is_good(), f"Write of {value}: {status.name}")
    got = await value_of(client, node)
    expect(
        got.VariantType == value.VariantType and got.is_array == value.is_array and values.same(got.Value, value.Value),
        f"wrote {value}, read {got}",
    )
    expect((got.Dimensions or None) == (value.Dimensions or None), f"wrote {value.Dimensions}, read {got.Dimensions}")


async def ranges(client: Client, report: Report) -> None:
    array, text, matrix = demo("Types.Array.Int32"), demo("Types.Scalar.String"), demo("Types.Matrix.Int32")
    async with report.check("reads index ranges of an array, a string and a matrix"):
        await roundtrip(client, array, ua.Variant([10, 11, 12, 13, 14], ua.VariantType.Int32))
        await roundtrip(client, text, ua.Variant("abcdef", ua.VariantType.String))
        await roundtrip(client, matrix, ua.Variant([[1, 2, 3], [4, 5, 6]], ua.VariantType.Int32))
        expect((got := await value_of(client, array, "1:3")).Value == [11, 12, 13], f"array 1:3 is {got}")
        expect((got := await value_of(client, array, "4")).Value == [14], f"array 4 is {got}")
        expect((got := await value_of(client, text, "2:3")).Value == "cd", f"string 2:3 is {got}")
        expect((got := await value_of(client, matrix, "0:1,1:2")).Value == [[2, 3], [5, 6]], f"matrix is {got}")
    async with report.check("writes an index range"):
        status = await write(client, array, ua.Variant([91, 92], ua.VariantType.Int32), "1:2")
        expect(status.is_good(), status.name)
        expect((got := await value_of(client, array)).Value == [10, 91, 92, 13, 14], f"array is {got}")
    async with report.check("refuses ranges that are out of bounds or malformed"):
        for text_range, code in (
            ("7:9", ua.StatusCodes.BadIndexRangeNoData),
            ("3:1", ua.StatusCodes.BadIndexRangeInvalid),
            ("x", ua.StatusCodes.BadIndexRangeInvalid),
        ):
            result = (await read(client, [array], ua.AttributeIds.Value, text_range))[0]
            expect(result.StatusCode.value == code, f"{text_range}: {result.StatusCode.name}")


async def methods(client: Client, report: Report) -> None:
    async def call(*inputs: ua.Variant) -> ua.CallMethodResult:
        request = ua.CallMethodRequest()
        request.ObjectId, request.MethodId = demo("Plant.Press1"), demo("Plant.Press1.Add")
        request.InputArguments = list(inputs)
        return (await client.uaclient.call([request]))[0]

    def int32(value: int) -> ua.Variant:
        return ua.Variant(value, ua.VariantType.Int32)

    async with report.check("calls Add"):
        for a, b in ((2, 40), (-7, 3)):
            result = await call(int32(a), int32(b))
            result.StatusCode.check()
            expect(result.OutputArguments == [int32(a + b)], f"Sum {result.OutputArguments}")
    async with report.check("refuses wrong arguments of Add"):
        result = await call(int32(1))
        expect(result.StatusCode.value == ua.StatusCodes.BadArgumentsMissing, result.StatusCode.name)
        result = await call(int32(1), int32(2), int32(3))
        expect(result.StatusCode.value == ua.StatusCodes.BadTooManyArguments, result.StatusCode.name)
        result = await call(int32(1), ua.Variant("2", ua.VariantType.String))
        expect(result.StatusCode.value == ua.StatusCodes.BadInvalidArgument, result.StatusCode.name)
        codes = [s.value for s in result.InputArgumentResults]
        expect(codes == [0, ua.StatusCodes.BadTypeMismatch], f"InputArgumentResults {codes}")
