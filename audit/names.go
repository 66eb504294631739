package audit

import "github.com/uahive/uahive/codec/ua/id"

// typeNames are the BrowseNames of the types of entries.
var typeNames = map[uint32]string{
	id.AuditOpenSecureChannelEventType:          "AuditOpenSecureChannelEventType",
	id.AuditChannelEventType:                    "AuditChannelEventType",
	id.AuditCreateSessionEventType:              "AuditCreateSessionEventType",
	id.AuditUrlMismatchEventType:                "AuditUrlMismatchEventType",
	id.AuditActivateSessionEventType:            "AuditActivateSessionEventType",
	id.AuditSessionEventType:                    "AuditSessionEventType",
	id.AuditCancelEventType:                     "AuditCancelEventType",
	id.AuditCertificateDataMismatchEventType:    "AuditCertificateDataMismatchEventType",
	id.AuditCertificateExpiredEventType:         "AuditCertificateExpiredEventType",
	id.AuditCertificateInvalidEventType:         "AuditCertificateInvalidEventType",
	id.AuditCertificateUntrustedEventType:       "AuditCertificateUntrustedEventType",
	id.AuditCertificateRevokedEventType:         "AuditCertificateRevokedEventType",
	id.AuditCertificateMismatchEventType:        "AuditCertificateMismatchEventType",
	id.AuditWriteUpdateEventType:                "AuditWriteUpdateEventType",
	id.AuditUpdateMethodEventType:               "AuditUpdateMethodEventType",
	id.RoleMappingRuleChangedAuditEventType:     "RoleMappingRuleChangedAuditEventType",
	id.TrustListUpdateRequestedAuditEventType:   "TrustListUpdateRequestedAuditEventType",
	id.TrustListUpdatedAuditEventType:           "TrustListUpdatedAuditEventType",
	id.CertificateUpdateRequestedAuditEventType: "CertificateUpdateRequestedAuditEventType",
	id.CertificateUpdatedAuditEventType:         "CertificateUpdatedAuditEventType",
}
