package sessionactor

import (
	"slices"

	"github.com/uahive/uahive/codec/ua"
)

// findServers serves FindServers (Part 4, 5.5.2). The server knows itself only.
func findServers(x *exchange) {
	var req ua.FindServersRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	e := x.service.config.Endpoints
	resp := new(ua.FindServersResponse)
	if len(req.ServerURIs) == 0 || slices.Contains(req.ServerURIs, e.Application.ApplicationURI) {
		self := e.Application
		self.DiscoveryURLs = []string{e.address(req.EndpointURL, x.channel.EndpointURL())}
		resp.Servers = []ua.ApplicationDescription{self}
	}
	x.respond(resp, &resp.ResponseHeader)
}

// getEndpoints serves GetEndpoints (Part 4, 5.5.4).
func getEndpoints(x *exchange) {
	var req ua.GetEndpointsRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	resp := new(ua.GetEndpointsResponse)
	if len(req.ProfileURIs) == 0 || slices.Contains(req.ProfileURIs, transportProfile) {
		resp.Endpoints = x.service.config.Endpoints.Descriptions(req.EndpointURL, x.channel.EndpointURL())
	}
	x.respond(resp, &resp.ResponseHeader)
}
