package addrspace

import "github.com/uahive/uahive/codec/ua"

// StoreStatus is Store of the present value with another status, in one step:
// a value that is stored at the same time is not lost. The source timestamp
// becomes the time of now unless the status is the same.
func (v *Variable) StoreStatus(status ua.StatusCode) {
	v.mu.Lock()
	for {
		dv := ua.DataValue{Value: v.value, Status: status}
		sd := v.side
		if sd == nil {
			v.set(&dv, nil, 0)
			v.mu.Unlock()
			return
		}
		// Delivery comes before value in the order of locks.
		v.mu.Unlock()
		sd.mu.Lock()
		v.mu.Lock()
		if v.side != sd {
			sd.mu.Unlock()
			continue
		}
		dv.Value = v.value
		changed, _ := v.set(&dv, nil, 0)
		sd.last = v.load()
		v.mu.Unlock()
		if changed {
			sd.deliver()
		}
		sd.mu.Unlock()
		return
	}
}
