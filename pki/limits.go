package pki

import "time"

const (
	// maxBlob is the largest certificate field that is looked at, chain included. It stops certificates
	// that are made to keep a parser busy, before anything is parsed.
	maxBlob = 16 << 10

	// maxChain is the longest chain, from leaf to root, both in what a peer sends and in what is built.
	// It stops endless and circular chains.
	maxChain = 8

	// maxSignatureChecks bounds the public key operations for one validation. Many authorities of the
	// same name, which a peer may send along, would otherwise multiply.
	maxSignatureChecks = 32

	// minKeyBits and maxKeyBits frame the RSA keys of all supported policies (Part 7). Shorter ones are
	// weak, and longer ones make the server work for the attacker.
	minKeyBits = 2048
	maxKeyBits = 4096

	// maxFile is the largest file that is read from the store's folders: a revocation list of an authority
	// with some hundred thousand entries. It stops a mistaken copy from filling the memory.
	maxFile = 16 << 20

	// maxListed is the largest number of files read from one folder.
	maxListed = 20_000

	// rejectedCount and rejectedBytes bound the rejected store, which strangers fill.
	rejectedCount = 200
	rejectedBytes = 1 << 20

	// noteBurst and noteEvery pace what a stranger can cause on disk and in the log: so many refusals at
	// once, then one in each interval. The rest is only counted.
	noteBurst = 100
	noteEvery = 100 * time.Millisecond

	// rescanEvery is how often the folders are looked at, if there is anything to validate.
	rescanEvery = time.Second

	// refusalRescan is the least time between two looks at the folders before a refusal; rescanShare is
	// the least one in units of what a look takes, so that refusals cannot keep a core busy with looking.
	refusalRescan = 100 * time.Millisecond
	rescanShare   = 20
)
