// Command uapki looks after the certificate folder of a server or a client: whom it trusts, what was refused,
// what is revoked, and the application's own certificate.
//
//	uapki list
//	uapki trust 3f2a91c0
//	uapki request -out press.csr && uapki import press.crt authority.crt
//
// A program that uses the folder need not be stopped: it sees every change within a few seconds. The exit code
// is 0 when all is well, 1 when something could not be done or is not acceptable, and 2 for a wrong command line.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/uahive/uahive/pki"
)

// command is one word of the command line.
type command struct {
	name, args, what string
	run              func(t *tool, args []string) error
	flags            func(t *tool, f *flag.FlagSet)
}

func commands() []*command {
	return []*command{
		{"list", "", "show every certificate and revocation list in the folder", (*tool).list, nil},
		{"show", "CERTIFICATE", "show a certificate, and what a server of this folder would say of it", (*tool).show, roleFlags},
		{"trust", "CERTIFICATE...", "trust a peer, or all that an authority issues", (*tool).trust, trustFlags},
		{"reject", "CERTIFICATE...", "trust no longer; the certificate goes to the rejected ones", (*tool).reject, nil},
		{"remove", "CERTIFICATE...", "take a certificate or a revocation list out of the folder", (*tool).remove, nil},
		{"crl", "FILE...", "add revocation lists", (*tool).crl, nil},
		{"create", "", "make the application's own certificate", (*tool).create, createFlags},
		{"request", "", "make a request to sign, for an authority", (*tool).request, requestFlags},
		{"import", "CERTIFICATE [AUTHORITY...]", "take up the certificate that an authority has signed", (*tool).take, nil},
	}
}

// tool is one run of the program.
type tool struct {
	dir string
	out io.Writer

	// Of single commands.
	asUser, asIssuer, asServer bool
	uri, name, hosts, types    string
	bits                       int
	file, subject, keyType     string
}

// usageError is a wrong command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func main() {
	err := run(os.Args[1:], os.Stdout)
	var wrong *usageError
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, &wrong):
		fmt.Fprintln(os.Stderr, "uapki:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "uapki:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		help(out)
		return &usageError{"say what to do, for example: uapki list"}
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		help(out)
		return nil
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.start(args[1:], out)
		}
	}
	return &usageError{fmt.Sprintf("there is no command %q; uapki help names them all", args[0])}
}

func (c *command) start(args []string, out io.Writer) error {
	t := &tool{out: out}
	f := flag.NewFlagSet("uapki "+c.name, flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&t.dir, "dir", "pki", "the certificate folder, as in Config.PKI of the server")
	if c.flags != nil {
		c.flags(t, f)
	}
	f.Usage = func() {
		fmt.Fprintf(out, "uapki %s [flags] %s\n  %s\n", c.name, c.args, c.what)
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return &usageError{err.Error()}
	}
	if c.args == "" && f.NArg() > 0 {
		return &usageError{fmt.Sprintf("%s takes no argument like %q; flags come before arguments", c.name, f.Arg(0))}
	}
	if c.args != "" && f.NArg() == 0 {
		return &usageError{fmt.Sprintf("name what to %s: uapki %s %s", c.name, c.name, c.args)}
	}
	return c.run(t, f.Args())
}

func help(out io.Writer) {
	fmt.Fprintln(out, "uapki looks after the certificate folder of an OPC UA application.")
	fmt.Fprintln(out)
	for _, c := range commands() {
		fmt.Fprintf(out, "  uapki %-8s %-28s %s\n", c.name, c.args, c.what)
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "A CERTIFICATE is a file, or the first digits (6 at least) of the thumbprint of one in the folder.")
	fmt.Fprintln(out, "Every command takes -dir FOLDER (default: pki), and -help. Programs that use the folder see changes")
	fmt.Fprintln(out, "within a few seconds.")
}

// open opens the trust lists of a folder that exists: a mistyped name is not to make one.
func (t *tool) open() (*pki.Store, error) {
	if _, err := os.Stat(t.dir); err != nil {
		return nil, fmt.Errorf("%w: name the folder with -dir, or make it with uapki create", err)
	}
	return pki.OpenLists(pki.Config{Dir: t.dir})
}
