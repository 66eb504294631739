package main

import "testing"

func TestGoName(t *testing.T) {
	for name, want := range map[string]string{
		"NodeId": "NodeID", "NodeIds": "NodeIDs", "IdType": "IDType", "Identity": "Identity",
		"Identifier": "Identifier", "ServerUri": "ServerURI", "ServerUris": "ServerURIs",
		"EndpointUrl": "EndpointURL", "EndpointUrls": "EndpointURLs", "DiscoveryUrlsX": "DiscoveryURLsX",
		"BadNodeIdUnknown": "BadNodeIDUnknown", "BadTcpMessageTooLarge": "BadTcpMessageTooLarge",
		"BadServerUriInvalid": "BadServerURIInvalid", "Uri2Id": "URI2ID", "Idle": "Idle", "Valid": "Valid",
		"TranslateBrowsePathsToNodeIdsRequest": "TranslateBrowsePathsToNodeIDsRequest",
		"UserId_":                              "UserID_", "vector": "Vector", "": "",
	} {
		if got := goName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
