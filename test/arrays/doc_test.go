// Package arrays holds what large arrays must keep while they are sent from, and
// received into, the memory where they are stored.
package arrays
