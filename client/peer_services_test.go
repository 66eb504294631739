package client

import (
	"crypto/rand"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

func refusal(code ua.StatusCode) ua.Structure {
	return &ua.ServiceFault{ResponseHeader: ua.ResponseHeader{ServiceResult: code}}
}

// serve is the default of all services.
func (p *peer) serve(r *peerRequest) ua.Structure {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch req := r.body.(type) {
	case *ua.GetEndpointsRequest:
		return &ua.GetEndpointsResponse{Endpoints: p.endpoints}
	case *ua.CreateSessionRequest:
		return p.createSession(r, req)
	}
	s := r.session
	if s == nil {
		return refusal(ua.BadSessionIDInvalid)
	}
	if req, ok := r.body.(*ua.ActivateSessionRequest); ok {
		return p.activate(r, req)
	}
	if s.active != r.conn {
		return refusal(ua.BadSecureChannelIDInvalid)
	}
	switch req := r.body.(type) {
	case *ua.CloseSessionRequest:
		delete(p.sessions, s.token)
		for _, parked := range s.parked {
			p.mu.Unlock()
			parked.reply(refusal(ua.BadSessionClosed))
			p.mu.Lock()
		}
		return new(ua.CloseSessionResponse)
	case *ua.ReadRequest:
		resp := new(ua.ReadResponse)
		for _, n := range req.NodesToRead {
			dv := ua.DataValue{Value: ua.Int32Variant(int32(n.NodeID.Numeric()))}
			if n.NodeID == serverState {
				dv.Value = ua.Int32Variant(int32(ua.ServerStateRunning))
			}
			resp.Results = append(resp.Results, dv)
		}
		return resp
	case *ua.CancelRequest:
		return new(ua.CancelResponse)
	}
	return p.serveSubscriptions(r, s)
}

func (p *peer) createSession(r *peerRequest, req *ua.CreateSessionRequest) ua.Structure {
	s := &peerSession{token: ua.NumericID(1, p.id()), nonce: make([]byte, 32), client: req.ClientCertificate}
	rand.Read(s.nonce)
	p.sessions[s.token] = s
	own := p.store.Certificate()
	resp := &ua.CreateSessionResponse{
		SessionID:             ua.NumericID(1, p.id()),
		AuthenticationToken:   s.token,
		RevisedSessionTimeout: min(req.RequestedSessionTimeout, float64(p.timeout.Milliseconds())),
		ServerNonce:           s.nonce,
		ServerEndpoints:       p.endpoints,
	}
	if p.sessionEnd != nil {
		resp.ServerEndpoints = p.sessionEnd
	}
	if r.conn.policy.Secure() {
		resp.ServerCertificate = own.DER
		var err error
		resp.ServerSignature, err = uasc.SignNonce(r.conn.policy, own.Key, req.ClientCertificate, req.ClientNonce)
		if err != nil {
			p.t.Error(err)
		}
	}
	return resp
}

func (p *peer) activate(r *peerRequest, req *ua.ActivateSessionRequest) ua.Structure {
	s, c := r.session, r.conn
	own := p.store.Certificate()
	if c.policy.Secure() {
		err := uasc.VerifyNonce(c.policy, c.client.Key, req.ClientSignature, own.DER, s.nonce)
		if err != nil {
			return refusal(ua.BadApplicationSignatureInvalid)
		}
	}
	user := "?"
	switch token := req.UserIdentityToken.Value.(type) {
	case *ua.AnonymousIdentityToken:
		user = "anonymous/" + token.PolicyID
	case *ua.UserNameIdentityToken:
		password := token.Password
		if token.EncryptionAlgorithm != "" {
			var err error
			if password, err = uasc.DecryptSecret(uasc.Basic256Sha256, own.Key, password, s.nonce); err != nil {
				return refusal(ua.BadIdentityTokenRejected)
			}
		}
		if string(password) != "secret" {
			return refusal(ua.BadUserAccessDenied)
		}
		user = token.UserName + "/" + token.PolicyID
	case *ua.X509IdentityToken:
		cert, err := pki.Intern(token.CertificateData)
		if err != nil || uasc.VerifyNonce(uasc.Basic256Sha256, cert.Key, req.UserTokenSignature, own.DER, s.nonce) != nil {
			return refusal(ua.BadUserSignatureInvalid)
		}
		user = "certificate/" + token.PolicyID
	}
	p.users = append(p.users, user)
	s.active, s.parked = c, nil
	s.nonce = make([]byte, 32)
	rand.Read(s.nonce)
	return &ua.ActivateSessionResponse{ServerNonce: s.nonce}
}

// notificationOf makes a message with one value for each of the handles 1, 2, ...
func notificationOf(seq uint32, values ...int32) ua.NotificationMessage {
	data := new(ua.DataChangeNotification)
	for i, v := range values {
		data.MonitoredItems = append(data.MonitoredItems, ua.MonitoredItemNotification{
			ClientHandle: uint32(i + 1), Value: ua.DataValue{Value: ua.Int32Variant(v)},
		})
	}
	return ua.NotificationMessage{SequenceNumber: seq, NotificationData: []ua.ExtensionObject{ua.ObjectOf(data)}}
}

func (p *peer) serveSubscriptions(r *peerRequest, s *peerSession) ua.Structure {
	switch req := r.body.(type) {
	case *ua.CreateSubscriptionRequest:
		sub := &peerSub{id: p.id(), session: s, sent: make(map[uint32]ua.NotificationMessage)}
		p.subs[sub.id] = sub
		return &ua.CreateSubscriptionResponse{
			SubscriptionID: sub.id, RevisedPublishingInterval: req.RequestedPublishingInterval,
			RevisedLifetimeCount: req.RequestedLifetimeCount, RevisedMaxKeepAliveCount: req.RequestedMaxKeepAliveCount,
		}
	case *ua.DeleteSubscriptionsRequest:
		resp := new(ua.DeleteSubscriptionsResponse)
		for _, id := range req.SubscriptionIDs {
			delete(p.subs, id)
			resp.Results = append(resp.Results, ua.Good)
		}
		return resp
	case *ua.CreateMonitoredItemsRequest:
		resp := new(ua.CreateMonitoredItemsResponse)
		sub := p.subs[req.SubscriptionID]
		if sub == nil {
			return refusal(ua.BadSubscriptionIDInvalid)
		}
		for _, it := range req.ItemsToCreate {
			sub.items = append(sub.items, it)
			resp.Results = append(resp.Results, ua.MonitoredItemCreateResult{
				MonitoredItemID: p.id(), RevisedQueueSize: it.RequestedParameters.QueueSize, RevisedSamplingInterval: 100,
			})
		}
		return resp
	case *ua.PublishRequest:
		p.acks = append(p.acks, req.SubscriptionAcknowledgements...)
		for _, a := range req.SubscriptionAcknowledgements {
			if sub := p.subs[a.SubscriptionID]; sub != nil {
				delete(sub.sent, a.SequenceNumber)
			}
		}
		s.parked = append(s.parked, r)
		for _, sub := range p.subs {
			if sub.session == s {
				p.flush(sub)
			}
		}
		return nil
	case *ua.RepublishRequest:
		sub := p.subs[req.SubscriptionID]
		if sub == nil || sub.session != s {
			return refusal(ua.BadSubscriptionIDInvalid)
		}
		m, ok := sub.sent[req.RetransmitSequenceNumber]
		if !ok {
			return refusal(ua.BadMessageNotAvailable)
		}
		return &ua.RepublishResponse{NotificationMessage: m}
	case *ua.TransferSubscriptionsRequest:
		resp := new(ua.TransferSubscriptionsResponse)
		for _, id := range req.SubscriptionIDs {
			sub := p.subs[id]
			if sub == nil {
				resp.Results = append(resp.Results, ua.TransferResult{StatusCode: ua.BadSubscriptionIDInvalid})
				continue
			}
			sub.session = s
			resp.Results = append(resp.Results, ua.TransferResult{AvailableSequenceNumbers: sub.available()})
		}
		return resp
	}
	return refusal(ua.BadServiceUnsupported)
}

func (sub *peerSub) available() []uint32 {
	var list []uint32
	for n := range sub.sent {
		list = append(list, n)
	}
	return list
}

// flush answers parked Publish requests with what is unsent. The caller holds mu.
func (p *peer) flush(sub *peerSub) {
	for len(sub.unsent) > 0 && len(sub.session.parked) > 0 {
		r := sub.session.parked[0]
		sub.session.parked = sub.session.parked[1:]
		m := sub.unsent[0]
		sub.unsent = sub.unsent[1:]
		if len(m.NotificationData) > 0 {
			sub.sent[m.SequenceNumber] = m
		}
		resp := &ua.PublishResponse{
			SubscriptionID: sub.id, AvailableSequenceNumbers: sub.available(), NotificationMessage: m,
		}
		p.mu.Unlock()
		r.reply(resp)
		p.mu.Lock()
	}
}

// notify sends a change to every subscription, or only keeps it for Republish.
func (p *peer) notify(lose bool, values ...int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sub := range p.subs {
		sub.seq++
		m := notificationOf(sub.seq, values...)
		if lose {
			sub.sent[m.SequenceNumber] = m
			continue
		}
		sub.unsent = append(sub.unsent, m)
		p.flush(sub)
	}
}

// parked is how many Publish requests wait.
func (p *peer) parked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range p.sessions {
		n += len(s.parked)
	}
	return n
}

// keepAlive sends a keep-alive message of every subscription.
func (p *peer) keepAlive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sub := range p.subs {
		sub.unsent = append(sub.unsent, ua.NotificationMessage{SequenceNumber: sub.seq + 1})
		p.flush(sub)
	}
}
