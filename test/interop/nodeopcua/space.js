"use strict";
// Checks of the address space and its values: View, Attribute and Method services.
const {
  AttributeIds,
  BrowseDirection,
  coerceNodeId,
  DataType,
  NodeClass,
  StatusCodes,
} = require("node-opcua-client");
const { Range } = require("node-opcua-types");
const { expect } = require("./report");
const values = require("./values");

const objects = coerceNodeId("i=85");
const root = coerceNodeId("i=84");
const hierarchical = coerceNodeId("i=33");
const hasSubtype = "ns=0;i=45";
const namespace = "urn:uahive:demo";
const machines = ["Press1", "Press2", "Oven1", "Conveyor1"];
const members = ["Temperature", "Pressure", "Speed", "PartCounter", "State", "SetPoint", "Start", "Stop", "Reset", "Add"];

const demo = (path) => coerceNodeId(`ns=2;s=${path}`);

function wantedNodes() {
  return [
    ...["Plant", "Types", "Types.Scalar", "Types.Array", "Types.Matrix", "Types.Matrix.Double", "Types.Matrix.Int32"],
    ...machines.map((m) => `Plant.${m}`),
    ...members.map((m) => `Plant.Press1.${m}`),
    ...values.names.flatMap((n) => [`Types.Scalar.${n}`, `Types.Array.${n}`]),
  ].map((path) => demo(path).toString());
}

function wantStatus(got, want) {
  expect(got.value === want.value, `want ${want.name}, got ${got.name}`);
}

class Space {
  constructor(session, report, prefix) {
    this.session = session;
    this.report = report;
    this.prefix = prefix;
  }

  check(name, fn) {
    return this.report.check(`${this.prefix} ${name}`, fn, 60);
  }

  /** Browses nodes forward and follows continuation points to their end. */
  async browse(nodes, page = 0) {
    this.session.requestedMaxReferencesPerNode = page;
    const results = await this.session.browse(
      nodes.map((nodeId) => ({
        nodeId,
        browseDirection: BrowseDirection.Forward,
        referenceTypeId: hierarchical,
        includeSubtypes: true,
        nodeClassMask: 0,
        resultMask: 63,
      })),
    );
    expect(results.length === nodes.length, `${results.length} results for ${nodes.length} nodes`);
    const found = [];
    for (let [i, result] of results.entries()) {
      const references = [];
      for (;;) {
        expect(result.statusCode.isGood(), `browsing ${nodes[i]}: ${result.statusCode.name}`);
        references.push(...(result.references ?? []));
        if (!result.continuationPoint?.length) {
          break;
        }
        result = await this.session.browseNext(result.continuationPoint, false);
      }
      found.push(references);
    }
    return found;
  }

  /** Walks along the hierarchical references; the text of a node id is its key. */
  async walk(start) {
    const tree = { nodes: new Map(), supertypes: new Map() };
    const seen = new Set([start.toString()]);
    let level = [start];
    while (level.length > 0) {
      const following = [];
      for (let at = 0; at < level.length; at += 200) {
        const batch = level.slice(at, at + 200);
        const found = await this.browse(batch);
        found.forEach((references, i) => {
          for (const ref of references) {
            const key = ref.nodeId.toString();
            if (ref.referenceTypeId.toString() === hasSubtype) {
              tree.supertypes.set(key, batch[i]);
            }
            if (!seen.has(key)) {
              seen.add(key);
              tree.nodes.set(key, ref);
              following.push(ref.nodeId);
            }
          }
        });
      }
      level = following;
    }
    return tree;
  }

  async read(nodes, attributeId, indexRange) {
    const results = [];
    for (let at = 0; at < nodes.length; at += 500) {
      const items = nodes.slice(at, at + 500).map((nodeId) => ({ nodeId, attributeId, indexRange }));
      results.push(...(await this.session.read(items)));
    }
    expect(results.length === nodes.length, `${results.length} results for ${nodes.length} nodes`);
    return results;
  }

  async value(node, indexRange) {
    const [result] = await this.read([node], AttributeIds.Value, indexRange);
    expect(result.statusCode.isGood(), `reading ${node} ${indexRange ?? ""}: ${result.statusCode.name}`);
    return result.value;
  }

  async write(nodeId, value, indexRange) {
    return this.session.write({ nodeId, attributeId: AttributeIds.Value, indexRange, value: { value } });
  }

  async expectValue(node, want, indexRange) {
    const got = await this.value(node, indexRange);
    expect(values.same(got, want), `${indexRange ?? ""} want ${want}, read ${got}`);
  }

  async roundtrip(node, value) {
    const status = await this.write(node, value);
    expect(status.isGood(), `writing ${value}: ${status.name}`);
    await this.expectValue(node, value);
  }

  /** Gives what is wrong with each variable that keep takes, and how many there are. */
  async variables(tree, keep) {
    const nodes = [...tree.nodes.values()]
      .filter((ref) => ref.nodeClass === NodeClass.Variable && keep(ref.nodeId.namespace))
      .map((ref) => ref.nodeId);
    const data = await this.read(nodes, AttributeIds.Value);
    const types = await this.read(nodes, AttributeIds.DataType);
    const ranks = await this.read(nodes, AttributeIds.ValueRank);
    const wrong = [];
    let without = 0;
    nodes.forEach((node, i) => {
      if (!data[i].statusCode.isGood() || data[i].value.dataType === DataType.Null) {
        without++;
        wrong.push(`${node}: ${data[i].statusCode.name} ${DataType[data[i].value.dataType]}`);
        return;
      }
      const problem = mismatch(tree, types[i].value.value, ranks[i].value.value, data[i].value);
      if (problem) {
        wrong.push(`${node}: ${problem}`);
      }
    });
    return { count: nodes.length, wrong, without };
  }

  async run() {
    let tree = { nodes: new Map(), supertypes: new Map() };
    await this.check("the demo's namespace has index 2", async () => {
      const names = await this.session.readNamespaceArray();
      expect(names[2] === namespace, `NamespaceArray ${names}`);
    });
    await this.check("browses all of the demo from Objects", async () => {
      const found = await this.walk(objects);
      const missing = wantedNodes().filter((n) => !found.nodes.has(n));
      expect(missing.length === 0, `missing ${missing}`);
      return `${[...found.nodes.values()].filter((r) => r.nodeId.namespace === 2).length} nodes of the demo`;
    });
    await this.check("browses everything from Root", async () => {
      tree = await this.walk(root);
      expect(tree.nodes.size >= 2000, `only ${tree.nodes.size} nodes`);
      return `${tree.nodes.size} nodes`;
    });
    await this.check("paged Browse finds what one page finds", async () => {
      for (const node of [objects, coerceNodeId("i=24"), coerceNodeId("i=2253"), demo("Types.Scalar")]) {
        const [whole] = await this.browse([node]);
        const [paged] = await this.browse([node], 3);
        const ids = (refs) => refs.map((r) => r.nodeId.toString()).join(" ");
        expect(whole.length > 0 && ids(whole) === ids(paged), `${node}: ${ids(whole)} and ${ids(paged)}`);
      }
      this.session.requestedMaxReferencesPerNode = 0;
    });
    await this.check("every variable of the demo reads good and as its DataType says", async () => {
      const { count, wrong } = await this.variables(tree, (ns) => ns === 2);
      expect(wrong.length === 0, wrong.join("; "));
      expect(count >= 2 * values.names.length + 6, `only ${count} variables`);
      return `${count} variables`;
    });
    await this.check("every variable of namespaces 0 and 1 reads, and good values are as their DataType says", async () => {
      const { count, wrong, without } = await this.variables(tree, (ns) => ns < 2);
      expect(wrong.length === without, wrong.filter((w) => w.includes("value ")).join("; "));
      return `${count} variables, ${without} without a good value`;
    });
    await this.check("TranslateBrowsePathsToNodeIds finds Press1's PartCounter", async () => {
      const elements = ["Plant", "Plant.Press1", "Plant.Press1.PartCounter"].map((path) => ({
        referenceTypeId: hierarchical,
        includeSubtypes: true,
        targetName: tree.nodes.get(demo(path).toString()).browseName,
      }));
      const result = await this.session.translateBrowsePath({ startingNode: objects, relativePath: { elements } });
      wantStatus(result.statusCode, StatusCodes.Good);
      expect(result.targets[0].targetId.toString() === demo("Plant.Press1.PartCounter").toString(), `${result}`);
    });
    await this.check("an unknown node is BadNodeIdUnknown", async () => {
      const [result] = await this.read([demo("No.Such.Node")], AttributeIds.Value);
      wantStatus(result.statusCode, StatusCodes.BadNodeIdUnknown);
    });
    await this.writes();
    await this.ranges();
    await this.methods();
  }

  async writes() {
    for (const group of ["Scalar", "Array"]) {
      for (const name of values.names) {
        await this.check(`writes and reads back Types.${group}.${name}`, async () => {
          for (const value of values.cases(name, group === "Array")) {
            await this.roundtrip(demo(`Types.${group}.${name}`), value);
          }
        });
      }
    }
    await this.check("writes and reads back matrices", async () => {
      await this.roundtrip(demo("Types.Matrix.Double"), values.matrix("Double", [2, 3], [1.5, 2.5, 3.5, -1, 0, 1e300]));
      await this.roundtrip(demo("Types.Matrix.Int32"), values.matrix("Int32", [2, 3], [6, 5, 4, 3, 2, 1]));
    });
    await this.check("a value of another type is BadTypeMismatch", async () => {
      const status = await this.write(demo("Types.Scalar.Int32"), values.scalar("String", "text"));
      wantStatus(status, StatusCodes.BadTypeMismatch);
    });
    await this.check("a structure comes back as the type that it is", async () => {
      const node = demo("Types.Scalar.ExtensionObject");
      await this.roundtrip(node, values.scalar("ExtensionObject", new Range({ low: 1, high: 2 })));
      const got = (await this.value(node)).value;
      expect(got instanceof Range && got.low === 1 && got.high === 2, `read ${got}`);
    });
  }

  async ranges() {
    const [array, text, matrix] = [demo("Types.Array.Int32"), demo("Types.Scalar.String"), demo("Types.Matrix.Int32")];
    await this.check("reads index ranges of an array, a string and a matrix", async () => {
      await this.roundtrip(array, values.array("Int32", [10, 11, 12, 13, 14]));
      await this.roundtrip(text, values.scalar("String", "abcdef"));
      await this.roundtrip(matrix, values.matrix("Int32", [2, 3], [1, 2, 3, 4, 5, 6]));
      await this.expectValue(array, values.array("Int32", [11, 12, 13]), "1:3");
      await this.expectValue(array, values.array("Int32", [14]), "4");
      await this.expectValue(text, values.scalar("String", "cd"), "2:3");
      await this.expectValue(matrix, values.matrix("Int32", [2, 2], [2, 3, 5, 6]), "0:1,1:2");
    });
    await this.check("writes an index range", async () => {
      wantStatus(await this.write(array, values.array("Int32", [91, 92]), "1:2"), StatusCodes.Good);
      await this.expectValue(array, values.array("Int32", [10, 91, 92, 13, 14]));
    });
    await this.check("refuses a range that is out of bounds", async () => {
      const [result] = await this.read([array], AttributeIds.Value, "7:9");
      wantStatus(result.statusCode, StatusCodes.BadIndexRangeNoData);
    });
  }

  async methods() {
    const call = (...inputArguments) =>
      this.session.call({ objectId: demo("Plant.Press1"), methodId: demo("Plant.Press1.Add"), inputArguments });
    const int32 = (v) => values.scalar("Int32", v);
    await this.check("calls Add", async () => {
      for (const [a, b] of [[2, 40], [-7, 3]]) {
        const result = await call(int32(a), int32(b));
        wantStatus(result.statusCode, StatusCodes.Good);
        expect(result.outputArguments.length === 1, `${result.outputArguments.length} outputs`);
        expect(values.same(result.outputArguments[0], int32(a + b)), `Sum ${result.outputArguments[0]}`);
      }
    });
    await this.check("refuses wrong arguments of Add", async () => {
      wantStatus((await call(int32(1))).statusCode, StatusCodes.BadArgumentsMissing);
      wantStatus((await call(int32(1), int32(2), int32(3))).statusCode, StatusCodes.BadTooManyArguments);
      const result = await call(int32(1), values.scalar("String", "2"));
      wantStatus(result.statusCode, StatusCodes.BadInvalidArgument);
      wantStatus(result.inputArgumentResults[0], StatusCodes.Good);
      wantStatus(result.inputArgumentResults[1], StatusCodes.BadTypeMismatch);
    });
  }
}

/** Climbs from a data type to the built-in or abstract one (a numeric id below 30) it is made of. */
function builtin(tree, dataType) {
  while (dataType.namespace !== 0 || dataType.value >= 30) {
    const above = tree.supertypes.get(dataType.toString());
    expect(above, `data type ${dataType} has no supertype`);
    dataType = above;
  }
  return dataType.value;
}

/** Says how a value differs from the DataType and ValueRank that describe it. */
function mismatch(tree, dataType, rank, variant) {
  const base = builtin(tree, dataType);
  const kind = variant.dataType;
  const allowed = {
    24: () => true,
    26: () => kind >= 2 && kind <= 11,
    27: () => [2, 4, 6, 8].includes(kind),
    28: () => [3, 5, 7, 9].includes(kind),
    29: () => kind === DataType.Int32,
  }[base];
  if (!(allowed ? allowed() : kind === base)) {
    return `value is ${DataType[kind]}, DataType ${dataType} stands for built-in type ${base}`;
  }
  const dimensions = variant.dimensions?.length || variant.arrayType;
  const fits = { "-3": dimensions <= 1, "-2": true, "-1": dimensions === 0, 0: dimensions >= 1 }[rank] ?? dimensions === rank;
  return fits ? undefined : `value has ${dimensions} dimensions, ValueRank is ${rank}`;
}

module.exports = { demo, Space };
