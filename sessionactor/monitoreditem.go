package sessionactor

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/publishloop"
)

// The MonitoredItem service set (Part 4, 5.13).
var (
	createItems          = managed((*publishloop.Manager).CreateMonitoredItems, func(r *ua.CreateMonitoredItemsRequest) int { return len(r.ItemsToCreate) })
	modifyMonitoredItems = managed((*publishloop.Manager).ModifyMonitoredItems, func(r *ua.ModifyMonitoredItemsRequest) int { return len(r.ItemsToModify) })
	setMonitoringMode    = managed((*publishloop.Manager).SetMonitoringMode, func(r *ua.SetMonitoringModeRequest) int { return len(r.MonitoredItemIDs) })
	setTriggering        = managed((*publishloop.Manager).SetTriggering, func(r *ua.SetTriggeringRequest) int { return len(r.LinksToAdd) + len(r.LinksToRemove) })
	deleteMonitoredItems = managed((*publishloop.Manager).DeleteMonitoredItems, func(r *ua.DeleteMonitoredItemsRequest) int { return len(r.MonitoredItemIDs) })
)
