// Package jwtauth lets users of a uahive server log in with JSON Web Tokens that
// another service has issued (Part 6, 6.5). It is a package of its own so that
// programs which do not use it do not link the JWT library.
//
//	tokens, err := jwtauth.New(jwtauth.Config{
//		Issuer: "https://login.plant.example", Audience: "urn:acme:press",
//		Keys: map[string]crypto.PublicKey{"2026-01": key},
//	})
//	srv, err := uahive.New(uahive.Config{
//		ApplicationURI: "urn:acme:press",
//		Identities:     []uahive.Identity{tokens.Identity()},
//		Authenticate:   tokens.Authenticate,
//	})
//
// It owns the decision whether a token is to be believed. It fetches nothing: the
// keys of the issuer are given to it, or asked from a function of the program.
package jwtauth
