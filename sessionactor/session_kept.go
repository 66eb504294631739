package sessionactor

import (
	"strings"
	"unique"

	"github.com/uahive/uahive/codec/ua"
)

// A session keeps some of what its client says for as long as it lives. These
// bounds, in bytes or elements, stop clients from filling the memory with it.
const (
	maxSessionName = 512
	maxText        = 1024
	maxURI         = 4096
	maxUserName    = 1024
	maxLocales     = 32
	maxLocale      = 64 // RFC 5646 needs 35
)

// shorten cuts the texts of a CreateSession request that are for people only, and
// drops what is not used.
func shorten(req *ua.CreateSessionRequest) {
	req.SessionName = cut(req.SessionName, maxSessionName)
	req.EndpointURL = cut(req.EndpointURL, maxURI)
	d := &req.ClientDescription
	d.ProductURI = cut(d.ProductURI, maxURI)
	d.ApplicationName.Locale = cut(d.ApplicationName.Locale, maxLocale)
	d.ApplicationName.Text = cut(d.ApplicationName.Text, maxText)
	d.GatewayServerURI = cut(d.GatewayServerURI, maxURI)
	d.DiscoveryProfileURI = cut(d.DiscoveryProfileURI, maxURI)
	d.DiscoveryURLs = nil // of a client, nobody asks for them
}

// cut returns the beginning of a text, and lets go of the rest.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:most], ""))
}

// keptLocales returns those of a client's locale ids that can be any.
func keptLocales(ids []string) []string {
	var kept []string
	for _, id := range ids {
		if len(kept) < maxLocales && len(id) <= maxLocale {
			kept = append(kept, id)
		}
	}
	return kept
}

// clientWords is what a client says about itself when it creates a session. The
// clients of one program say the same, and their sessions share one copy.
type clientWords struct {
	application            ua.ApplicationType
	uri, product, gateway  string
	profile                string
	nameLocale, name       string
	serverURI, endpointURL string
}

// wordsOf keeps what the session remembers of a CreateSession request.
func wordsOf(req *ua.CreateSessionRequest) unique.Handle[clientWords] {
	d := &req.ClientDescription
	return unique.Make(clientWords{
		application: d.ApplicationType, uri: d.ApplicationURI, product: d.ProductURI, gateway: d.GatewayServerURI,
		profile: d.DiscoveryProfileURI, nameLocale: d.ApplicationName.Locale, name: d.ApplicationName.Text,
		serverURI: req.ServerURI, endpointURL: req.EndpointURL,
	})
}

// description is the client's own, as the session's diagnostics show it.
func (w clientWords) description() ua.ApplicationDescription {
	return ua.ApplicationDescription{
		ApplicationURI: w.uri, ProductURI: w.product,
		ApplicationName: ua.LocalizedText{Locale: w.nameLocale, Text: w.name},
		ApplicationType: w.application, GatewayServerURI: w.gateway, DiscoveryProfileURI: w.profile,
	}
}

// application is the ApplicationUri of the client.
func (s *Session) application() string { return s.words.Value().uri }
