package addrspace

// Limits of an address space. The zero value of each field means its default.
type Limits struct {
	// BrowseNameLength is the largest number of bytes of a BrowseName's text;
	// default 512. Part 3, 8.3 restricts the name to 512 characters, and names
	// of many kilobytes have crashed servers that copy them into every browse
	// result.
	BrowseNameLength int
	// ValueSize is the largest encoded size in bytes of a value that a client
	// may write to one variable; default 16 MiB. Larger ones are
	// BadOutOfRange. It stops a client from parking memory in writable nodes.
	ValueSize int
	// Namespaces is the largest number of namespaces; default 65535, which is
	// all a namespace index can name.
	Namespaces int
	// Nodes is the largest number of nodes; default 0 means no limit. It is
	// for servers that let clients add nodes.
	Nodes int
}

const (
	defaultBrowseNameLength = 512
	defaultValueSize        = 16 << 20
	defaultNamespaces       = 65535

	// encodedThreshold is the size in bytes above which a stored array keeps
	// its encoded form beside it (see [Variable.LoadEncoded]).
	encodedThreshold = 4 << 10

	// sameValueElements bounds the work of finding out whether a stored array
	// equals the one before; longer ones count as changed.
	sameValueElements = 1024

	// maxTypeDepth bounds every walk up the type tree. The standard's own
	// tree is less than ten deep; the bound ends a walk in a tree that is
	// being changed under it.
	maxTypeDepth = 256
)

func (l *Limits) setDefaults() {
	if l.BrowseNameLength <= 0 {
		l.BrowseNameLength = defaultBrowseNameLength
	}
	if l.ValueSize <= 0 {
		l.ValueSize = defaultValueSize
	}
	if l.Namespaces <= 0 || l.Namespaces > defaultNamespaces {
		l.Namespaces = defaultNamespaces
	}
}
