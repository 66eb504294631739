"""What is written and read back, for each built-in type."""

import datetime
import math
import uuid

from asyncua import ua

T = ua.VariantType


def _time(*args: int) -> datetime.datetime:
    return datetime.datetime(*args, tzinfo=datetime.timezone.utc)


SCALARS: dict[str, tuple[ua.VariantType, list]] = {
    "Boolean": (T.Boolean, [True, False]),
    "SByte": (T.SByte, [-128, 127]),
    "Byte": (T.Byte, [0, 255]),
    "Int16": (T.Int16, [-32768, 32767]),
    "UInt16": (T.UInt16, [0, 65535]),
    "Int32": (T.Int32, [-(2**31), 2**31 - 1]),
    "UInt32": (T.UInt32, [0, 2**32 - 1]),
    "Int64": (T.Int64, [-(2**63), 2**63 - 1]),
    "UInt64": (T.UInt64, [0, 2**64 - 1]),
    "Float": (T.Float, [-1.5, math.inf, 0.0]),
    "Double": (T.Double, [math.pi, -math.inf, 5e-324, math.nan]),
    "String": (T.String, ["plain", "Grüße 你好 🏭", ""]),
    "DateTime": (T.DateTime, [_time(2026, 11, 30, 12, 30, 15, 123456), _time(1970, 1, 1)]),
    "Guid": (T.Guid, [uuid.UUID("72962b91-fa75-4ae6-8d28-b404dc7daf63")]),
    "ByteString": (T.ByteString, [b"\x00\x01\xff", b""]),
    "XmlElement": (T.XmlElement, [ua.XmlElement("<press id='1'>ü</press>")]),
    "NodeId": (
        T.NodeId,
        [
            ua.NodeId(2258, 0),
            ua.NodeId(70000, 2),
            ua.NodeId("Plant.Press1", 2),
            ua.NodeId(uuid.UUID("72962b91-fa75-4ae6-8d28-b404dc7daf63"), 2),
            ua.NodeId(b"\x01\x02", 2, ua.NodeIdType.ByteString),
        ],
    ),
    "ExpandedNodeId": (T.ExpandedNodeId, [ua.ExpandedNodeId("Plant", 2), ua.ExpandedNodeId(85, 0)]),
    "StatusCode": (T.StatusCode, [ua.StatusCode(ua.StatusCodes.BadNodeIdUnknown), ua.StatusCode(0)]),
    "QualifiedName": (T.QualifiedName, [ua.QualifiedName("name", 2), ua.QualifiedName("Grüße", 0)]),
    "LocalizedText": (T.LocalizedText, [ua.LocalizedText("Druck", "de"), ua.LocalizedText("no locale")]),
    "ExtensionObject": (
        T.ExtensionObject,
        [ua.Range(-1.5, 99.25), ua.EUInformation("http://www.opcfoundation.org/UA/units/un/cefact", 4408652)],
    ),
}


def variant_cases(name: str, array: bool) -> list[ua.Variant]:
    """The values that are written to Types.Scalar.<name> or Types.Array.<name>."""
    if name == "Variant":
        if array:
            return [ua.Variant([ua.Variant(7, T.Int32), ua.Variant("mixed", T.String), ua.Variant(True)], T.Variant)]
        return [ua.Variant(4.5, T.Double), ua.Variant("text", T.String), ua.Variant([1, 2], T.UInt16)]
    kind, values = SCALARS[name]
    if not array:
        return [ua.Variant(v, kind) for v in values]
    return [ua.Variant(values * 3, kind), ua.Variant(values[:1], kind), ua.Variant([], kind, is_array=True)]


NAMES = [*SCALARS, "Variant"]


def same(a: object, b: object) -> bool:
    """Equality that also holds for NaN, and for an empty list against a null array of the same type."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, datetime.datetime) and isinstance(b, datetime.datetime):
        return _aware(a) == _aware(b)
    if isinstance(a, ua.Variant) and isinstance(b, ua.Variant):
        return a.VariantType == b.VariantType and same(a.Value, b.Value)
    return a == b


def _aware(t: datetime.datetime) -> datetime.datetime:
    return t if t.tzinfo else t.replace(tzinfo=datetime.timezone.utc)
