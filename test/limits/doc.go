// Package limits reaches each limit that clients can reach, sees the StatusCode
// that its documentation names, and sees that the server takes again what it took
// before once there is room. That one session cannot take what others need, within
// the limits, is here too.
package limits
